// Damaged, cut and foreign files: an Error whose sentence names the file, or the same model.
#include <gtest/gtest.h>

#include "artifact/artifact_tools.h"

namespace narthex {
namespace {

using namespace testing_artifact;

EncoderShape small_shape() {
  EncoderShape shape;
  shape.layers = 1;
  shape.heads = shape.kv_heads = 2;
  shape.d = shape.d_value = 8;
  shape.inner = 24;
  shape.vocabulary = 16;
  shape.max_positions = 64;
  return shape;
}

class Damage : public testing::Test {
 protected:
  Damage() : plan_(plan_of(small_shape(), 1, Precision::kBf16)), want_(run(plan_)) {
    const std::string tables = "tokenizer";
    const auto written = write_artifact(
        directory_ / "a", {kKey, &plan_, std::as_bytes(std::span(tables.data(), tables.size())), {{"name", "value"}}});
    EXPECT_TRUE(written) << written.error().message;
    bytes_ = read_bytes(directory_ / "a");
  }
  static Result<LoadedArtifact> open(AlignedBytes& bytes) { return open_artifact(bytes.span(), nullptr, kKey, "a"); }
  static void expect_sentence(const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kBadModel);
    EXPECT_TRUE(error.message.starts_with("a: ")) << error.message;
    EXPECT_TRUE(error.message.ends_with("; it is to be compiled anew")) << error.message;
  }

  TemporaryDirectory directory_;
  PackedPlan plan_;
  std::vector<float> want_;
  std::string bytes_;
};

// One bit of every byte, which one going round: all eight of a byte meet the same check.
TEST_F(Damage, AFlippedBitIsNoticedOrMeansNothing) {
  std::size_t n_refused = 0;
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    AlignedBytes damaged(bytes_);
    damaged.data()[i] ^= std::byte{1} << i % 8;
    const auto loaded = open(damaged);
    if (!loaded) {
      expect_sentence(loaded.error());
      ++n_refused;
    } else {  // between two sections or constants
      ASSERT_EQ(damaged.data()[i], std::byte{1} << i % 8) << i;
      ASSERT_EQ(loaded->metadata.at("name"), "value");
      if (i % 16 != 0) continue;
      ASSERT_TRUE(same_bytes(run(*loaded->plan), want_)) << i;
    }
  }
  EXPECT_GT(n_refused, plan_.constant_bytes() * 9 / 10);
}

TEST_F(Damage, EveryBitOfTheHeaderCounts) {
  for (std::size_t bit = 0; bit < 8 * sizeof(artifact::Header); ++bit) {
    AlignedBytes damaged(bytes_);
    damaged.data()[bit / 8] ^= std::byte{1} << bit % 8;
    const auto loaded = open(damaged);
    ASSERT_FALSE(loaded) << bit;
    expect_sentence(loaded.error());
  }
}

TEST_F(Damage, ACutFileIsRefusedWhereverItEnds) {
  for (std::size_t n = 0; n < bytes_.size(); ++n) {
    AlignedBytes cut(bytes_.substr(0, n));
    const auto loaded = open(cut);
    ASSERT_FALSE(loaded) << n;
    expect_sentence(loaded.error());
  }
  AlignedBytes longer(bytes_ + '\0');
  EXPECT_FALSE(open(longer));
  write_bytes(directory_ / "empty", "");
  EXPECT_FALSE(load_artifact(directory_ / "empty", kKey));
}

TEST_F(Damage, ForeignFilesSayWhy) {
  const auto refusal = [&](auto change) {
    AlignedBytes changed(bytes_);
    artifact::Header header = header_of(changed.span());
    change(header);
    header.checksum = artifact::checksum_of(artifact::checked_part(header));
    std::memcpy(changed.data(), &header, sizeof header);
    const auto loaded = open(changed);
    return loaded ? std::string("was loaded") : loaded.error().message;
  };
  EXPECT_EQ(refusal([](artifact::Header& h) { h.magic[0] = 'M'; }),
            "a: is no compiled model for this program: it does not begin as one; it is to be compiled anew");
  EXPECT_EQ(refusal([](artifact::Header& h) { h.byte_order = 0x04030201; }),
            "a: is no compiled model for this program: its byte order is another machine's; it is to be compiled anew");
  EXPECT_EQ(refusal([](artifact::Header& h) { h.version = 77; }),
            fmt::format("a: is no compiled model for this program: its format is 77, expected {}; it is to be compiled "
                        "anew",
                        kArtifactVersion));
  EXPECT_EQ(refusal([](artifact::Header& h) { h.key[63] = '4'; }),
            "a: is no compiled model for this program: it was made from other files or for other options; it is to be "
            "compiled anew");
}

TEST_F(Damage, OtherThingsInItsPlaceAreErrors) {
  EXPECT_EQ(load_artifact(directory_ / "none", kKey).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(load_artifact(directory_.path(), kKey));
  EXPECT_FALSE(load_artifact("/dev/null", kKey));
  EXPECT_FALSE(load_artifact(directory_ / "a", std::string(64, 'b')));
  EXPECT_TRUE(load_artifact(directory_ / "a", kKey));
}

}  // namespace
}  // namespace narthex
