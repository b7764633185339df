// Forged artifacts: a good file with some of its bytes changed and every checksum made right again is an Error, or a
// plan that runs without touching anything it should not.
//
// The first byte chooses one of kBases plans of random encoders; then come edits of four bytes: where (16 bits, modulo
// the bytes before the weights), how, and with what. Constants are copied to memory of their own before the run, so
// that the sanitizer sees the end of each.
#include <array>
#include <cstdlib>

#include "artifact/artifact_tools.h"
#include "base/check.h"

namespace {

using namespace narthex;
using namespace narthex::testing_artifact;

constexpr std::size_t kBases = 32;

const std::string& base(std::size_t i) {
  static std::array<std::string, kBases> all;
  if (all[i].empty()) {
    const TemporaryDirectory directory;
    const PackedPlan plan = random_plan(i);
    const auto written = write_artifact(directory / "a", {kKey, &plan, {}, {{"id", "fuzz"}}});
    NX_CHECK(written.has_value(), "the plan of an encoder can be written");
    all[i] = read_bytes(directory / "a");
  }
  return all[i];
}

void edit(std::span<std::byte> bytes, std::size_t at, std::uint8_t how, std::uint8_t with) {
  constexpr std::uint32_t kNumbers[] = {0,   1,      2,       15,         16,         63,         64,
                                        255, 0x8000, 0x10000, 0x00FFFFFF, 0x7FFFFFFF, 0x80000000, UINT32_MAX};
  const auto put = [&](std::uint32_t number) {
    if (bytes.size() - at >= sizeof number) std::memcpy(bytes.data() + at, &number, sizeof number);
  };
  std::uint32_t number = 0;
  if (bytes.size() - at >= sizeof number) std::memcpy(&number, bytes.data() + at, sizeof number);
  switch (how % 5) {
    case 0:
      bytes[at] = static_cast<std::byte>(with);
      break;
    case 1:
      bytes[at] ^= std::byte{1} << with % 8;
      break;
    case 2:
      put(kNumbers[with % std::size(kNumbers)]);
      break;
    case 3:
      put(number + with - 128);
      break;
    case 4:
      put(number << with % 4 << 1);
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  AlignedBytes bytes(base(data[0] % kBases));
  const artifact::Header header = header_of(bytes.span());
  const auto tokenizer = static_cast<std::size_t>(header.sections[artifact::kTokenizer].offset);
  for (std::size_t i = 1; i + 4 <= size && i < 64; i += 4) {
    const std::size_t where = std::size_t{data[i]} | std::size_t{data[i + 1]} << 8;
    // What is not bytes of the plan is checksums for a large part: three of four edits go into the plan.
    const artifact::Section& plan = header.sections[artifact::kPlan];
    const std::size_t at = data[i + 2] % 4 == 0 ? where % tokenizer : plan.offset + where % plan.bytes;
    edit(bytes.span(), at, data[i + 2] / 4, data[i + 3]);
  }
  forge_checksums(bytes.span());
  const auto loaded = open_artifact(bytes.span(), nullptr, kKey, "fuzz");
  if (!loaded) {
    NX_CHECK(loaded.error().message.starts_with("fuzz: "), "an error names the file");
  } else if (loaded->plan != nullptr) {
    run(with_own_constants(*loaded->plan));
  }
  return 0;
}
