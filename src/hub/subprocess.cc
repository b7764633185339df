#include "hub/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "hub/disk.h"

extern "C" char** environ;

namespace narthex {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kKeptOutput = 64 * 1024;
constexpr int kPollMs = 50;
constexpr std::chrono::seconds kGrace{2};

// The two C structs of posix_spawn, released together.
struct SpawnSetup {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  SpawnSetup() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;
  ~SpawnSetup() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
};

Result<pid_t> spawn(const std::vector<std::string>& arguments, const ProgramOptions& options, int output) {
  SpawnSetup setup;
  ::posix_spawn_file_actions_addopen(&setup.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&setup.actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&setup.actions, output, STDERR_FILENO);
  if (!options.directory.empty()) ::posix_spawn_file_actions_addchdir_np(&setup.actions, options.directory.c_str());
  sigset_t none;
  sigemptyset(&none);
  sigset_t usual;
  sigemptyset(&usual);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGHUP, SIGQUIT}) sigaddset(&usual, signal);
  ::posix_spawnattr_setsigmask(&setup.attributes, &none);
  ::posix_spawnattr_setsigdefault(&setup.attributes, &usual);
  ::posix_spawnattr_setpgroup(&setup.attributes, 0);
  ::posix_spawnattr_setflags(&setup.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int code = ::posix_spawnp(&pid, argv[0], &setup.actions, &setup.attributes, argv.data(), environ);
  if (code == ENOENT || code == EACCES)
    return fail(ErrorCode::kNotFound, "the program '{}' is not installed", arguments[0]);
  if (code != 0)
    return fail(ErrorCode::kIo, "the program '{}' cannot be started: {}", arguments[0], std::strerror(code));
  return pid;
}

void keep_tail(std::string& output, std::string_view more) {
  output.append(more);
  if (output.size() > 2 * kKeptOutput) output.erase(0, output.size() - kKeptOutput);
}

// Reads what has arrived; false at the end of the output.
bool drain(int fd, std::string& output) {
  char block[4096];
  for (;;) {
    const ssize_t got = ::read(fd, block, sizeof block);
    if (got > 0) {
      keep_tail(output, std::string_view(block, static_cast<std::size_t>(got)));
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
      return false;
    } else if (errno == EAGAIN) {
      return true;
    }
  }
}

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<ProgramResult> run_program(const std::vector<std::string>& arguments, const ProgramOptions& options) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(ErrorCode::kIo, "cannot make a pipe: {}", std::strerror(errno));
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  NX_TRY(const pid_t pid, spawn(arguments, options, writer.get()));
  writer = Descriptor();
  ::fcntl(reader.get(), F_SETFL, O_NONBLOCK);
  ProgramResult result;
  const auto deadline = Clock::now() + options.timeout;
  std::optional<Clock::time_point> asked_to_end;
  bool was_cancelled = false;
  int status = 0;
  bool is_open = true;
  // A grandchild may keep the pipe open after the program ended, so its end is what counts.
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    pollfd waiting{.fd = is_open ? reader.get() : -1, .events = POLLIN, .revents = 0};
    ::poll(&waiting, 1, kPollMs);
    if (is_open && waiting.revents != 0) is_open = drain(reader.get(), result.output);
    const auto now = Clock::now();
    if (!asked_to_end) {
      was_cancelled = options.cancelled && options.cancelled();
      if (!was_cancelled && now < deadline) continue;
      ::kill(-pid, SIGTERM);
      asked_to_end = now;
    } else if (now - *asked_to_end > kGrace) {
      ::kill(-pid, SIGKILL);
    }
  }
  if (asked_to_end) ::kill(-pid, SIGKILL);  // children that outlived the program
  if (is_open) drain(reader.get(), result.output);
  if (result.output.size() > kKeptOutput) result.output.erase(0, result.output.size() - kKeptOutput);
  if (was_cancelled) return fail(ErrorCode::kCancelled, "{}: cancelled", arguments[0]);
  if (asked_to_end) {
    return fail(ErrorCode::kIo, "'{}' did not end within {:.0f} s and was stopped", arguments[0],
                static_cast<double>(options.timeout.count()) / 1000);
  }
  result.exit_code = exit_code_of(status);
  return result;
}

}  // namespace narthex
