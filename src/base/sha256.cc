#include "base/sha256.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/check.h"

namespace narthex {

struct Hasher::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { EVP_MD_CTX_free(context); }
};

Hasher::Hasher(std::unique_ptr<State> state) : state_(std::move(state)) {}
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;
Hasher::~Hasher() = default;

Hasher Hasher::sha256() {
  auto state = std::make_unique<State>();
  NX_CHECK(EVP_DigestInit_ex(state->context, EVP_sha256(), nullptr) == 1, "OpenSSL has sha256");
  return Hasher(std::move(state));
}

Hasher Hasher::git_blob(std::uint64_t n_bytes) {
  auto state = std::make_unique<State>();
  NX_CHECK(EVP_DigestInit_ex(state->context, EVP_sha1(), nullptr) == 1, "OpenSSL has sha1");
  Hasher hasher(std::move(state));
  const std::string head = fmt::format("blob {}", n_bytes);
  hasher.update(std::string_view(head.c_str(), head.size() + 1));  // with its zero byte
  return hasher;
}

void Hasher::update(std::string_view bytes) {
  NX_CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1, "a digest accepts bytes");
}

std::string Hasher::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned n_bytes = 0;
  NX_CHECK(EVP_DigestFinal_ex(state_->context, digest.data(), &n_bytes) == 1, "a digest ends once");
  std::string out;
  for (unsigned i = 0; i < n_bytes; ++i) fmt::format_to(std::back_inserter(out), "{:02x}", digest[i]);
  return out;
}

Result<void> hash_file(const std::filesystem::path& path, Hasher& hasher) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, "{}: cannot open: {}", path.string(),
                std::strerror(errno));
  }
  std::vector<char> block(std::size_t{1} << 20);
  for (;;) {
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int code = errno;
      ::close(fd);
      return fail(ErrorCode::kIo, "{}: cannot read: {}", path.string(), std::strerror(code));
    }
    if (got == 0) break;
    hasher.update(std::string_view(block.data(), static_cast<std::size_t>(got)));
  }
  ::close(fd);
  return {};
}

Result<std::string> sha256_of_file(const std::filesystem::path& path) {
  Hasher hasher = Hasher::sha256();
  NX_TRY_VOID(hash_file(path, hasher));
  return hasher.hex();
}

bool is_lower_hex(std::string_view text, std::size_t n_digits) {
  return text.size() == n_digits &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace narthex
