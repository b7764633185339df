#include "models/model_card.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace narthex {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ModelCardTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::path(::testing::TempDir()) /
                 ("model_card_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(directory_);
    write("model.onnx", "");
    write("tokenizer.json", "{}");
  }
  void TearDown() override { fs::remove_all(directory_); }

  void write(const fs::path& name, std::string_view text) {
    fs::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name) << text;
  }
  ModelCard card(const CardDefaults& defaults = {}) {
    auto read = read_model_card(directory_, defaults);
    EXPECT_TRUE(read) << read.error().message;
    return read.value_or(ModelCard{});
  }
  std::string error() {
    auto read = read_model_card(directory_);
    return read ? "no error" : read.error().message;
  }

  fs::path directory_;
};

TEST_F(ModelCardTest, OldSpellingOfASentenceTransformer) {
  write("config.json", R"({"model_type": "bert", "max_position_embeddings": 512})");
  write("modules.json", R"([{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},
    {"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"},
    {"idx":2,"name":"2","path":"2_Normalize","type":"sentence_transformers.models.Normalize"}])");
  write("1_Pooling/config.json",
        R"({"word_embedding_dimension":384,"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":false})");
  write("sentence_bert_config.json", R"({"max_seq_length": 256, "do_lower_case": true})");
  const ModelCard c = card();
  EXPECT_EQ(c.pooling.value->to_string(), "cls");
  EXPECT_TRUE(*c.normalize.value);
  EXPECT_EQ(*c.max_length.value, 256u);
  EXPECT_TRUE(c.lower_case);
  EXPECT_THAT(c.max_length.reason, HasSubstr("sentence_bert_config.json"));
}

TEST_F(ModelCardTest, NewSpellingOfASentenceTransformer) {
  write("modules.json", R"([{"path":"","type":"sentence_transformers.base.modules.transformer.Transformer"},
    {"path":"1_Pooling","type":"sentence_transformers.sentence_transformer.modules.pooling.Pooling"}])");
  write("1_Pooling/config.json", R"({"embedding_dimension":384,"pooling_mode":["mean","lasttoken"]})");
  const ModelCard c = card();
  EXPECT_EQ(c.pooling.value->to_string(), "mean+last");
  EXPECT_FALSE(*c.normalize.value);
}

TEST_F(ModelCardTest, TheTokenizersLengthIsCappedByThePositionsLessTheirOffset) {
  write("config.json", R"({"model_type": "xlm-roberta", "max_position_embeddings": 514, "pad_token_id": 1})");
  write("tokenizer_config.json", R"({"model_max_length": 8192})");
  EXPECT_EQ(*card().max_length.value, 512u);
  write("tokenizer_config.json", R"({"model_max_length": 1000000000000000019884624838656})");
  EXPECT_EQ(*card().max_length.value, 512u);
  EXPECT_EQ(card().position_offset, 2);
}

TEST_F(ModelCardTest, PromptsAndTheirDefault) {
  write("config_sentence_transformers.json",
        R"({"prompts": {"query": "q: ", "document": ""}, "default_prompt_name": "query", "truncate_dim": 128})");
  const ModelCard c = card();
  EXPECT_EQ(c.prompts.at("query"), "q: ");
  EXPECT_EQ(c.default_prompt, "query");
  EXPECT_EQ(c.truncate_dim, 128u);
  write("config_sentence_transformers.json", R"({"default_prompt_name": "nope"})");
  EXPECT_THAT(error(), HasSubstr("'nope' is none of its prompts"));
}

TEST_F(ModelCardTest, FilesDecideBeforeTheCatalog) {
  const CardDefaults defaults{
      "m", Pooling{Pooling::Kind::kModes, {PoolingMode::kCls}}, true, 512, {}, {{"query", "p"}}};
  EXPECT_EQ(card(defaults).pooling.value->to_string(), "cls");
  EXPECT_EQ(card(defaults).pooling.reason, "catalog entry m");
  write("1_Pooling/config.json", R"({"pooling_mode_mean_tokens":true})");
  EXPECT_EQ(card(defaults).pooling.value->to_string(), "mean");
  EXPECT_EQ(card(defaults).pooling.reason, "1_Pooling/config.json");
}

TEST_F(ModelCardTest, NothingSaidStaysUndecided) {
  const ModelCard c = card();
  EXPECT_FALSE(c.pooling.value);
  EXPECT_FALSE(c.normalize.value);
  EXPECT_FALSE(c.max_length.value);
}

TEST_F(ModelCardTest, WhatCannotBeRunIsRefusedByName) {
  write("modules.json", R"([{"path":"2_Dense","type":"sentence_transformers.models.Dense"}])");
  EXPECT_THAT(error(), HasSubstr("module 'sentence_transformers.models.Dense' is not supported"));
  write("modules.json", R"([{"path":"../../etc","type":"sentence_transformers.models.Pooling"}])");
  EXPECT_THAT(error(), HasSubstr("leads outside the model"));
  write("modules.json", "{");
  EXPECT_THAT(error(), HasSubstr("not valid JSON"));
}

}  // namespace
}  // namespace narthex
