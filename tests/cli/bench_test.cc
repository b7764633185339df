// narthex bench: what its options allow, the rows that scripts read, and texts that are the same as in Python. Uses the
// hashing embedder, so that no model is needed; no time is ever compared with another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/json.h"
#include "base/sha256.h"
#include "cli/bench_workloads.h"
#include "cli/command.h"

namespace narthex::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

std::string slurp(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// `arguments` go through the shell; an own, empty NARTHEX_HOME keeps the user's models out.
Outcome bench(const std::string& arguments, const std::string& variables = "") {
  const std::string stem = ::testing::TempDir() + "/bench_test";
  const int status = std::system(fmt::format("NARTHEX_HOME={}_home {} {} bench {} >{}.out 2>{}.err </dev/null", stem,
                                             variables, NARTHEX_BINARY, arguments, stem, stem)
                                     .c_str());
  return {WEXITSTATUS(status), slurp(stem + ".out"), slurp(stem + ".err")};
}

Outcome lexical(const std::string& arguments, const std::string& variables = "") {
  return bench(arguments + " --model hashing-ngram-256", variables);
}

std::string texts_file(const std::string& name, const std::string& content) {
  std::string path = ::testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::vector<json::object> rows_of(const std::string& out) {
  std::vector<json::object> rows;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    const auto row = parse_json(line, "stdout");
    EXPECT_TRUE(row) << line;
    if (row) rows.push_back(row->as_object());
  }
  return rows;
}

std::vector<std::string> keys_of(const json::object& row) {
  std::vector<std::string> keys;
  for (const auto& member : row) keys.emplace_back(member.key());
  return keys;
}

// What every row says must make sense, whatever the machine.
void expect_plausible(const json::object& row) {
  const double median_ms = row.at("median_ms").to_number<double>();
  EXPECT_GT(median_ms, 0);
  EXPECT_GE(row.at("p99_ms").to_number<double>(), median_ms);
  EXPECT_GT(row.at("tokens_per_s").to_number<double>(), 0);
  EXPECT_GT(row.at("rss_mb").to_number<double>(), 0);
  EXPECT_GE(row.at("threads").to_number<int>(), 1);
  EXPECT_NE(row.at("precision").as_string(), "");
  EXPECT_NE(row.at("isa").as_string(), "");
}

TEST(BenchEngine, ARowOfJsonHasTheFieldsThatScriptsRead) {
  const std::string texts = texts_file("bench_three.txt", "one\n\nthe third text\n");
  const Outcome run = lexical("engine --seconds 0.01 --format json --texts " + texts);
  EXPECT_EQ(run.code, kOk) << run.err;
  const auto rows = rows_of(run.out);
  ASSERT_EQ(rows.size(), 1u) << run.out;
  EXPECT_THAT(keys_of(rows[0]), ElementsAre("texts", "tokens", "median_ms", "p99_ms", "tokens_per_s", "precision",
                                            "isa", "threads", "rss_mb"));
  EXPECT_EQ(rows[0].at("texts").to_number<int>(), 3) << "an empty line is a text";
  expect_plausible(rows[0]);
}

TEST(BenchEngine, TheNumberOfTokensDoesNotDependOnTheBatch) {
  const std::string texts = texts_file("bench_batch.txt", "one\ntwo words\nthe third text\nfour\nfive\n");
  const std::string command = "engine --rounds 1 --warm-up 0 --format json --texts " + texts;
  const auto whole = rows_of(lexical(command).out);
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_GT(whole[0].at("tokens").to_number<int>(), 5);
  for (const char* batch : {"1", "2", "5", "64"}) {
    const auto rows = rows_of(lexical(command + " --batch " + batch).out);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].at("tokens"), whole[0].at("tokens")) << batch;
    EXPECT_EQ(rows[0].at("texts"), whole[0].at("texts")) << batch;
  }
}

TEST(BenchEngine, WithoutTextsTheStandardWorkloadsSayTheirNames) {
  const Outcome run = lexical("engine --rounds 1 --warm-up 0 --format json");
  EXPECT_EQ(run.code, kOk) << run.err;
  std::vector<std::string> names;
  for (const json::object& row : rows_of(run.out)) {
    names.emplace_back(row.at("workload").as_string());
    expect_plausible(row);
  }
  EXPECT_THAT(names, ElementsAre("q12", "b1_128", "b1_512", "b32_short", "b32_mixed", "b256_mixed"));
}

TEST(BenchEngine, TextsMayBeJsonLines) {
  const std::string texts = texts_file("bench.jsonl", "{\"text\": \"a\\nb\"}\n{\"text\": \"c\"}\n");
  const auto rows = rows_of(lexical("engine --rounds 1 --format json --texts " + texts).out);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].at("texts").to_number<int>(), 2);
}

TEST(BenchEngine, ThreadsAreThoseAskedFor) {
  const std::string texts = texts_file("bench_threads.txt", "one\n");
  const std::string command = "engine --rounds 1 --format json --texts " + texts;
  for (const Outcome& run : {lexical(command + " --threads 3"), lexical(command, "NARTHEX_THREADS=3")}) {
    const auto rows = rows_of(run.out);
    ASSERT_EQ(rows.size(), 1u) << run.err;
    EXPECT_EQ(rows[0].at("threads").to_number<int>(), 3);
  }
}

TEST(BenchEngine, ForPeopleItPrintsALineAWorkload) {
  const Outcome run = lexical("engine --rounds 1 --warm-up 0");
  EXPECT_EQ(run.code, kOk) << run.err;
  EXPECT_THAT(run.out, HasSubstr("b256_mixed"));
  EXPECT_THAT(run.out, HasSubstr("tokens/s"));
  EXPECT_THAT(run.out, HasSubstr("MB resident"));
}

TEST(BenchEngine, TextsThatAreNotThereOrEmptyAreNamed) {
  const Outcome missing = lexical("engine --texts /nowhere/texts.txt");
  EXPECT_EQ(missing.code, kUnusable);
  EXPECT_THAT(missing.err, HasSubstr("/nowhere/texts.txt"));
  EXPECT_EQ(missing.out, "");
  const std::string empty = texts_file("bench_empty.txt", "");
  const Outcome none = lexical("engine --texts " + empty);
  EXPECT_EQ(none.code, kUnusable);
  EXPECT_THAT(none.err, HasSubstr("holds no texts"));
}

TEST(BenchEngine, AModelThatIsNotHereSaysHowToGetIt) {
  const Outcome run = bench("engine");
  EXPECT_EQ(run.code, kUnusable);
  EXPECT_THAT(run.err, HasSubstr("narthex pull bge-small-en-v1.5"));
}

TEST(BenchCold, ARowOfJsonHasTheFieldsOfTheEngineAndItsOwn) {
  const Outcome run = lexical("cold --runs 3 --format json --threads 1 --text 'two words'");
  EXPECT_EQ(run.code, kOk) << run.err;
  const auto rows = rows_of(run.out);
  ASSERT_EQ(rows.size(), 1u) << run.out;
  EXPECT_THAT(keys_of(rows[0]), ElementsAre("texts", "tokens", "median_ms", "p99_ms", "tokens_per_s", "precision",
                                            "isa", "threads", "rss_mb", "runs", "min_ms"));
  expect_plausible(rows[0]);
  EXPECT_EQ(rows[0].at("texts").to_number<int>(), 1);
  EXPECT_EQ(rows[0].at("runs").to_number<int>(), 3);
  EXPECT_EQ(rows[0].at("threads").to_number<int>(), 1);
  EXPECT_LE(rows[0].at("min_ms").to_number<double>(), rows[0].at("median_ms").to_number<double>());
}

TEST(BenchCold, WhatTheProgramHasToSayIsSaidOnceNotEveryRun) {
  const Outcome run = lexical("cold --runs 4");
  EXPECT_EQ(run.code, kOk);
  EXPECT_THAT(run.out, HasSubstr("process start to first vector"));
  const std::size_t first = run.err.find("lexical, not semantic");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(run.err.find("lexical, not semantic", first + 1), std::string::npos) << run.err;
}

TEST(BenchCold, OptionsOfTheEmbedderReachTheMeasuredProcess) {
  const Outcome run = lexical("cold --runs 1 --prompt query");
  EXPECT_EQ(run.code, kUnusable);
  EXPECT_THAT(run.err, HasSubstr("has no prompt 'query'"));
}

TEST(BenchCold, AStartThatFailsIsNotMeasured) {
  const Outcome run = bench("cold --runs 2 --format json");
  EXPECT_EQ(run.code, kUnusable);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("narthex pull bge-small-en-v1.5"));
}

TEST(Bench, WrongOptionsAreUsageErrors) {
  for (const char* arguments : {"", "engines", "engine --batch 0", "engine --seconds 0", "engine --rounds 0",
                                "engine --warm-up -1", "engine --format xml", "engine --precision fp8",
                                "engine --threads 0", "cold --runs 0", "cold --format csv", "engine extra"}) {
    const Outcome run = bench(arguments);
    EXPECT_EQ(run.code, kUsageError) << arguments;
    EXPECT_EQ(run.out, "") << arguments;
    EXPECT_THAT(run.err, HasSubstr("--help")) << arguments;
  }
}

TEST(Bench, EveryKindHasHelp) {
  for (const char* kind : {"engine", "cold", "tokenizer"}) {
    const Outcome run = bench(std::string(kind) + " --help");
    EXPECT_EQ(run.code, kOk) << kind;
    EXPECT_THAT(run.out, HasSubstr("--format")) << kind;
  }
}

// From numpy: sha256("\n".join(texts)) of the texts that bench/workloads.py makes.
TEST(BenchWorkloads, AreTheTextsThatNumpyMakes) {
  EXPECT_EQ(made_text(8, 3), "woke was intending an the whether chunks because");
  EXPECT_EQ(made_text(1, 0), "index.");
  std::vector<std::string> digests;
  for (const Workload& workload : standard_workloads()) {
    std::string all;
    for (const std::string& text : workload.texts) all += (all.empty() ? "" : "\n") + text;
    Hasher hasher = Hasher::sha256();
    hasher.update(all);
    digests.push_back(fmt::format("{} {} {}", workload.name, workload.texts.size(), hasher.hex()));
  }
  EXPECT_THAT(digests, ElementsAre("q12 1 d5ed8bf3e370b0ed8af39a6cd91b2032691b4f87bd91e3d6fd7ae3e7e3740987",
                                   "b1_128 1 57223f943296b9d440da5a12e88ed115e28efe5da34213881b32a374f36d98dc",
                                   "b1_512 1 8bac6b430c48bdf6c5e6104bee2ed5f008babc2c3403d733b87ee78b58fdcb24",
                                   "b32_short 32 cd575c8a09cc10fc2470301a1c24443714faaf38e6050dcbc177ed6965a23608",
                                   "b32_mixed 32 51499221453b2b0edc77634c1003db92493d8802d8c7346f2311fc7cdc12c16e",
                                   "b256_mixed 256 2353b25231e45ae21ba3bdb376cf17eaa2e901a07b3deb0c25271979c5f227f6"));
}

TEST(BenchWorkloads, TheMedianOfAnEvenNumberIsTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(median_of_sorted(std::vector{4.0}), 4.0);
  EXPECT_EQ(median_of_sorted(std::vector{1.0, 2.0}), 1.5);
  EXPECT_EQ(median_of_sorted(std::vector{1.0, 2.0, 9.0}), 2.0);
  EXPECT_EQ(median_of_sorted(std::vector{1.0, 2.0, 4.0, 9.0}), 3.0);
}

}  // namespace
}  // namespace narthex::cli
