// Stand-ins for mvn, pip and python3 on a PATH of their own: shell scripts that write down their arguments and do as
// told.
#pragma once

#include <filesystem>
#include <string>

#include "hub/test_tools.h"

namespace narthex::testing_hub {

class FakeClients {
 public:
  // PATH holds the fakes and the system's plain tools (sh, cp, sleep), but no real client.
  explicit FakeClients(Variables& variables) {
    std::filesystem::create_directories(directory_ / "bin");
    for (const char* tool : {"sh", "cp", "sleep", "echo", "touch"}) {
      const std::filesystem::path real = std::filesystem::path("/bin") / tool;
      std::filesystem::create_symlink(real, directory_ / "bin" / tool);
    }
    variables.set("PATH", (directory_ / "bin").string());
  }
  // `script` may use $out, the directory that the client is told to write to.
  void install(const std::string& name, const std::string& script) {
    const std::filesystem::path path = directory_ / "bin" / name;
    const std::string find_out =
        "for a in \"$@\"; do case \"$a\" in -DoutputDirectory=*) out=\"${a#*=}\";; esac; "
        "[ \"$previous\" = -d ] && out=\"$a\"; previous=\"$a\"; done\n";
    write_text(path, "#!/bin/sh\necho \"$0 $@\" >> " + log().string() + "\n" + find_out + script + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  std::filesystem::path log() const { return directory_ / "log"; }
  std::string calls() const { return read_text(log()); }

 private:
  TemporaryDirectory directory_;
};

}  // namespace narthex::testing_hub
