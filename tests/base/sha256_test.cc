#include "base/sha256.h"

#include <gtest/gtest.h>

#include "base/file.h"

namespace narthex {
namespace {

TEST(Sha256, KnownVectorsWholeAndInPieces) {
  Hasher whole = Hasher::sha256();
  whole.update("abc");
  EXPECT_EQ(whole.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Hasher pieces = Hasher::sha256();
  pieces.update("a");
  pieces.update("");
  pieces.update("bc");
  EXPECT_EQ(pieces.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Hasher::sha256().hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

// `printf 'hello\n' | git hash-object --stdin`
TEST(Sha256, GitBlobIsWhatGitNamesTheContent) {
  Hasher blob = Hasher::git_blob(6);
  blob.update("hello\n");
  EXPECT_EQ(blob.hex(), "ce013625030ba8dba906f756967f9e9ca394464a");
}

TEST(Sha256, FilesLargerThanOneBlock) {
  const std::filesystem::path path = testing::TempDir() + "nx_sha256_test.bin";
  const std::string bytes((std::size_t{1} << 20) + 17, 'x');
  ASSERT_TRUE(write_file_atomically(path, bytes));
  Hasher expected = Hasher::sha256();
  expected.update(bytes);
  EXPECT_EQ(sha256_of_file(path).value(), expected.hex());
  std::filesystem::remove(path);
  EXPECT_EQ(sha256_of_file(path).error().code, ErrorCode::kNotFound);
}

TEST(Sha256, HexIsLowerCaseAndOfTheRightLength) {
  EXPECT_TRUE(is_lower_hex("0123456789abcdef", 16));
  EXPECT_FALSE(is_lower_hex("0123456789ABCDEF", 16));
  EXPECT_FALSE(is_lower_hex("0123", 5));
}

}  // namespace
}  // namespace narthex
