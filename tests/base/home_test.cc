#include "base/home.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace narthex {
namespace {

// Sets variables for one test and puts the old values back.
class Variables {
 public:
  void set(const char* name, const char* value) {
    const char* old = std::getenv(name);
    old_.emplace_back(name, old == nullptr ? std::optional<std::string>() : std::string(old));
    if (value == nullptr) {
      ::unsetenv(name);
    } else {
      ::setenv(name, value, 1);
    }
  }
  ~Variables() {
    for (auto it = old_.rbegin(); it != old_.rend(); ++it) {
      if (it->second) {
        ::setenv(it->first.c_str(), it->second->c_str(), 1);
      } else {
        ::unsetenv(it->first.c_str());
      }
    }
  }

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> old_;
};

TEST(Home, NarthexHomeHoldsBoth) {
  Variables v;
  v.set("NARTHEX_HOME", "/srv/nx");
  const Home home = narthex_home().value();
  EXPECT_EQ(home.models, "/srv/nx/models");
  EXPECT_EQ(home.artifacts, "/srv/nx/artifacts");
}

TEST(Home, ElseTheXdgDirectoriesAndRelativeOnesAreIgnored) {
  Variables v;
  v.set("NARTHEX_HOME", nullptr);
  v.set("HOME", "/home/ada");
  v.set("XDG_DATA_HOME", "/data");
  v.set("XDG_CACHE_HOME", "relative");
  const Home home = narthex_home().value();
  EXPECT_EQ(home.models, "/data/narthex/models");
  EXPECT_EQ(home.artifacts, "/home/ada/.cache/narthex/artifacts");
}

TEST(Home, WithoutAnyPlaceTheErrorSaysWhatToSet) {
  Variables v;
  for (const char* name : {"NARTHEX_HOME", "HOME", "XDG_DATA_HOME"}) v.set(name, nullptr);
  const auto home = narthex_home();
  ASSERT_FALSE(home);
  EXPECT_NE(home.error().message.find("NARTHEX_HOME"), std::string::npos) << home.error().message;
}

}  // namespace
}  // namespace narthex
