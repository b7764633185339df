// What the tests of this layer share: a directory with a small random encoder, so that no model has to be there.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace narthex_test {

// Compiled models go to a folder of this process, not to the user's cache.
class OwnHome {
 public:
  OwnHome() : path_(std::filesystem::temp_directory_path() / ("narthex_api_test_" + std::to_string(getpid()))) {
    ::setenv("NARTHEX_HOME", path_.c_str(), 1);
  }
  ~OwnHome() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  OwnHome(const OwnHome&) = delete;
  OwnHome& operator=(const OwnHome&) = delete;

  // Files below it.
  std::size_t n_files() const {
    std::size_t n = 0;
    if (!std::filesystem::exists(path_)) return n;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) n += entry.is_regular_file() ? 1 : 0;
    return n;
  }

 private:
  std::filesystem::path path_;
};
inline const OwnHome own_home;

// Made anew for each object, and gone with it. Words it knows: one, two, three, four.
class SmallModel {
 public:
  SmallModel() : directory_(std::filesystem::path(::testing::TempDir()) / ("api_test_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    std::filesystem::copy_file(std::filesystem::path(NARTHEX_SOURCE_DIR) / "tests/data/graphs/x_bert_ts_14_eager.onnx",
                               directory_ / "model.onnx");
    std::ofstream(directory_ / "tokenizer.json") << R"({"version":"1.0","added_tokens":[
      {"id":0,"content":"[PAD]","special":true},{"id":2,"content":"[CLS]","special":true},
      {"id":3,"content":"[SEP]","special":true}],
      "normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,
        "lowercase":true},
      "pre_tokenizer":{"type":"BertPreTokenizer"},
      "post_processor":{"type":"BertProcessing","sep":["[SEP]",3],"cls":["[CLS]",2]},
      "model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,
      "vocab":{"[PAD]":0,"[UNK]":1,"[CLS]":2,"[SEP]":3,"one":4,"two":5,"three":6,"four":7}}})";
  }
  ~SmallModel() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  SmallModel(const SmallModel&) = delete;
  SmallModel& operator=(const SmallModel&) = delete;

  std::string path() const { return directory_.string(); }

 private:
  std::filesystem::path directory_;
};

// The directory of a real model, or empty after saying so.
inline std::string real_model(const char* name) {
  const char* models = std::getenv("NARTHEX_TEST_MODELS");
  if (models != nullptr && *models != '\0' && std::filesystem::exists(std::filesystem::path(models) / name)) {
    return (std::filesystem::path(models) / name).string();
  }
  std::fprintf(stderr, "SKIPPED (loud): the part with %s, because NARTHEX_TEST_MODELS has none\n", name);
  return {};
}

}  // namespace narthex_test
