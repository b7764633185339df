// A model directory made of one of the small random encoders in tests/data/graphs and a tokenizer of words and letters.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace narthex {

inline const std::filesystem::path kSmallGraphs = std::filesystem::path(NARTHEX_SOURCE_DIR) / "tests/data/graphs";

class SmallModel {
 public:
  // `graph` without .onnx. Tests that run at the same time need different `name`s.
  SmallModel(const std::string& graph, const std::string& name)
      : directory_(std::filesystem::temp_directory_path() / ("narthex_" + name)) {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    std::filesystem::copy_file(kSmallGraphs / (graph + ".onnx"), directory_ / "model.onnx");
    std::ofstream(directory_ / "tokenizer.json") << tokenizer();
    // The graphs have 64 positions; those of XLM-R begin at 2.
    std::ofstream(directory_ / "sentence_bert_config.json") << R"({"max_seq_length": 60})";
  }
  ~SmallModel() { std::filesystem::remove_all(directory_); }
  SmallModel(const SmallModel&) = delete;
  SmallModel& operator=(const SmallModel&) = delete;

  const std::filesystem::path& directory() const { return directory_; }

 private:
  // Letters, so that real texts have many different tokens.
  static std::string tokenizer() {
    std::string vocab = R"("[PAD]":0,"[UNK]":1,"[CLS]":2,"[SEP]":3,"one":4,"two":5,"three":6,"four":7)";
    int id = 8;
    for (const std::string prefix : {"", "##"})
      for (char letter = 'a'; letter <= 'z'; ++letter) vocab += ",\"" + prefix + letter + "\":" + std::to_string(id++);
    return R"({"version":"1.0","added_tokens":[
      {"id":0,"content":"[PAD]","special":true},{"id":2,"content":"[CLS]","special":true},{"id":3,"content":"[SEP]","special":true}],
      "normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},
      "pre_tokenizer":{"type":"BertPreTokenizer"},
      "post_processor":{"type":"BertProcessing","sep":["[SEP]",3],"cls":["[CLS]",2]},
      "model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,
      "vocab":{)" +
           vocab + "}}}";
  }

  std::filesystem::path directory_;
};

}  // namespace narthex
