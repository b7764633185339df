#include "models/catalog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/sha256.h"
#include "hub/disk.h"
#include "hub/hub_cache.h"

namespace narthex {
namespace {

TEST(Catalog, FindsNamesAndAliasesInAnyCase) {
  EXPECT_EQ(find_model("bge-small-en-v1.5").value()->name, "bge-small-en-v1.5");
  EXPECT_EQ(find_model("BAAI/bge-small-en-v1.5").value()->name, "bge-small-en-v1.5");
  EXPECT_EQ(find_model("all-minilm-l6-v2").value()->name, "all-MiniLM-L6-v2");
  EXPECT_EQ(find_model("sentence-transformers/paraphrase-MiniLM-L3-v2").value()->name, "paraphrase-MiniLM-L3-v2");
}

TEST(Catalog, AMistypedNameGetsTheNearestOne) {
  EXPECT_EQ(find_model("bge-smal-en").error().message,
            "model 'bge-smal-en' is not known; did you mean 'bge-small-en-v1.5'? `narthex models` lists all");
  EXPECT_EQ(find_model("gpt-9").error().message, "model 'gpt-9' is not known; `narthex models` lists all");
  EXPECT_EQ(find_model("").error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(find_model(std::string(1'000'000, 'b')));
}

TEST(Catalog, NamesAndAliasesAreUnique) {
  std::set<std::string> seen;
  const auto add = [&](std::string name) {
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    EXPECT_TRUE(seen.insert(name).second) << name;
  };
  for (const CatalogModel& model : catalog()) {
    add(model.name);
    for (const std::string& alias : model.aliases) add(alias);
  }
}

void expect_sound_files(const std::string& model, const std::vector<SourceFile>& files) {
  for (const SourceFile& file : files) {
    EXPECT_TRUE(is_safe_relative_path(file.name)) << model << ": " << file.name;
    EXPECT_TRUE(is_safe_relative_path(file.from)) << model << ": " << file.from;
    EXPECT_TRUE(file.sha256.empty() || is_lower_hex(file.sha256, 64)) << model << ": " << file.name;
    EXPECT_EQ(file.sha256.empty(), file.bytes == 0) << model << ": " << file.name;
  }
}

TEST(Catalog, EveryEntryIsCompleteAndItsNamesAreSafe) {
  EXPECT_EQ(catalog().size(), 5U);
  for (const CatalogModel& model : catalog()) {
    SCOPED_TRACE(model.name);
    EXPECT_EQ(model.source.name, model.name);
    EXPECT_EQ(model.dim, 384);
    EXPECT_GE(model.max_length, 128);
    EXPECT_TRUE(model.pooling == "cls" || model.pooling == "mean");
    EXPECT_FALSE(model.licence.empty());
    EXPECT_FALSE(model.summary.empty());
    std::set<std::string> from_packages;
    for (const PackageSpec& package : model.source.packages) {
      expect_sound_files(model.name, package.members);
      for (const SourceFile& member : package.members) {
        EXPECT_FALSE(member.sha256.empty()) << member.name;  // what a registry serves is always checked
        from_packages.insert(member.name);
      }
    }
    EXPECT_EQ(from_packages, (std::set<std::string>{"model.onnx", "tokenizer.json"}));
    if (!model.source.hub) continue;
    expect_sound_files(model.name, model.source.hub->files);
    EXPECT_TRUE(check_repository(model.source.hub->repository));
    EXPECT_TRUE(check_revision(model.source.hub->revision));
    // A branch may move, so only content that is not pinned may come from one.
    const bool is_pinned = std::any_of(model.source.hub->files.begin(), model.source.hub->files.end(),
                                       [](const SourceFile& file) { return !file.sha256.empty(); });
    EXPECT_EQ(is_pinned, is_commit(model.source.hub->revision));
  }
}

// The digests that the design pins by their first digits.
TEST(Catalog, DigestsAreThoseOfTheDesign) {
  const auto digest = [](const char* name) {
    return find_model(name).value()->source.packages[0].members[0].sha256.substr(0, 8);
  };
  EXPECT_EQ(digest("bge-small-en-v1.5"), "828e1496");
  EXPECT_EQ(digest("bge-small-en-v1.5-q"), "6c9c6101");
  EXPECT_EQ(digest("all-MiniLM-L6-v2"), "759c3cd2");
}

}  // namespace
}  // namespace narthex
