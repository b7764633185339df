// Runs files of reference answers (written by oracle_tokenizer.py) against our tokenizer.
//
//   CaseReport report = run_cases("golden.jsonl", vocabulary);   EXPECT_EQ(report.n_wrong, 0) << report.first_wrong;
//
// Every case is encoded with offsets and without, which are two code paths with one answer.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "base/json.h"
#include "text/tokenizer.h"

namespace narthex {

struct CaseReport {
  std::size_t n_cases = 0;
  std::size_t n_wrong = 0;
  std::string first_wrong;  // input, expected and found, of the first few

  void wrong(std::string_view name, std::string_view line, std::string_view found) {
    if (++n_wrong <= 5) first_wrong += fmt::format("\n[{}] {}\n  found {}", name, line.substr(0, 2000), found);
  }
};

inline std::vector<std::int64_t> numbers(const json::value& value) {
  std::vector<std::int64_t> out;
  for (const json::value& one : value.as_array()) out.push_back(one.to_number<std::int64_t>());
  return out;
}

template <class T>
std::vector<std::int64_t> widen(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

inline EncodeOptions case_options(const json::object& row) {
  EncodeOptions options{.offsets = true};
  if (const auto* v = row.if_contains("add_special_tokens")) options.add_special_tokens = v->as_bool();
  if (const auto* v = row.if_contains("allow_special")) options.allow_special = v->as_bool();
  if (const auto* v = row.if_contains("max_length")) options.max_length = v->to_number<std::size_t>();
  if (const auto* v = row.if_contains("side"); v != nullptr && v->as_string() == "left") {
    options.side = TruncationSide::kLeft;
  }
  if (const auto* v = row.if_contains("strategy")) {
    if (v->as_string() == "only_first") options.strategy = TruncationStrategy::kOnlyFirst;
    if (v->as_string() == "only_second") options.strategy = TruncationStrategy::kOnlySecond;
  }
  return options;
}

inline void run_case(const Tokenizer& tokenizer, std::string_view name, std::string_view line, const json::object& row,
                     CaseReport& report) {
  ++report.n_cases;
  EncodeOptions options = case_options(row);
  const std::string_view text = row.at("text").as_string();
  const json::value* pair = row.if_contains("pair");
  const auto encode = [&] {
    return pair != nullptr ? tokenizer.encode_pair(text, pair->as_string(), options) : tokenizer.encode(text, options);
  };
  const Result<Encoding> full = encode();
  options.offsets = false;
  const Result<Encoding> ids_only = encode();
  if (row.contains("error") || !full || !ids_only) {
    if (row.contains("error") == !full.has_value() && full.has_value() == ids_only.has_value()) return;
    return report.wrong(name, line, full ? "an encoding" : full.error().message);
  }
  std::vector<std::int64_t> offsets;
  for (const Offsets& o : full->offsets) offsets.insert(offsets.end(), {o.begin, o.end});
  if (widen(full->ids) != numbers(row.at("ids")) || offsets != numbers(row.at("offsets"))) {
    return report.wrong(name, line, fmt::format("ids {} offsets {}", full->ids, offsets));
  }
  if (full->ids != ids_only->ids || full->type_ids != ids_only->type_ids || full->truncated != ids_only->truncated) {
    return report.wrong(name, line, fmt::format("without offsets: ids {}", ids_only->ids));
  }
  if (row.contains("type_ids") && (widen(full->type_ids) != numbers(row.at("type_ids")) ||
                                   widen(full->special_mask) != numbers(row.at("special_mask")))) {
    return report.wrong(name, line, fmt::format("type_ids {} special_mask {}", full->type_ids, full->special_mask));
  }
}

// `vocabulary` stands for the model.vocab "golden"; a {"vocabulary": ...} line replaces it.
inline CaseReport run_cases(const std::filesystem::path& path, json::value vocabulary) {
  CaseReport report;
  std::optional<Tokenizer> tokenizer;
  std::string name;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    Result<json::value> parsed = parse_json(line, path.string());
    if (!parsed) {
      report.wrong(name, line, parsed.error().message);
      return report;
    }
    json::object& row = parsed->as_object();
    if (row.contains("vocabulary")) {
      vocabulary = row.at("vocabulary");
      continue;
    }
    Result<Tokenizer> made = std::unexpected(Error{});
    if (row.contains("tokenizer")) {
      name = row.at("name").as_string();
      row["tokenizer"].as_object()["model"].as_object()["vocab"] = vocabulary;
      made = Tokenizer::from_json(json::serialize(row["tokenizer"]), name);
    } else if (row.contains("tokenizer_file")) {
      name = row.at("tokenizer_file").as_string();
      made = Tokenizer::from_file(name);
    } else if (tokenizer) {
      run_case(*tokenizer, name, line, row, report);
      continue;
    }
    if (!made) {
      report.wrong(name, line, made.error().message);
      return report;
    }
    tokenizer = std::move(*made);
  }
  return report;
}

}  // namespace narthex
