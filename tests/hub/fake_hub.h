// The hub as its clients see it: one repository with one branch and one commit, and a second server that plays the CDN.
//
//   FakeHub hub;  hub.add_large("onnx/model.onnx", bytes);  hub.add_small("config.json", "{}");
//   hub.at_hub = [](const SeenRequest& r) -> std::optional<Reply> {...};   a fault instead of the answer
//
// Large files redirect to the CDN with a signature that expires when `signature` changes.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "hub/fake_server.h"
#include "hub/test_tools.h"

namespace narthex::testing_hub {

inline const std::string kCommit = "0123456789abcdef0123456789abcdef01234567";
inline const std::string kRepository = "acme/tiny";

// What a correct server sends for a body and an optional Range.
inline Reply with_range(const SeenRequest& request, const std::string& body) {
  const std::string range = request.header("range");
  if (range.empty()) return {.body = body};
  const std::size_t from = std::stoul(range.substr(6));
  if (from >= body.size()) return {.status = 416};
  return {.status = 206,
          .headers = {{"Content-Range", fmt::format("bytes {}-{}/{}", from, body.size() - 1, body.size())}},
          .body = body.substr(from)};
}

class FakeHub {
 public:
  using Fault = std::function<std::optional<Reply>(const SeenRequest&)>;

  FakeHub()
      : cdn([this](const SeenRequest& request) { return answer_cdn(request); }),
        hub([this](const SeenRequest& request) { return answer_hub(request); }) {}

  void add_large(const std::string& name, std::string bytes) { large_[name] = std::move(bytes); }
  void add_small(const std::string& name, std::string bytes) { small_[name] = std::move(bytes); }

  Fault at_hub;
  Fault at_cdn;
  std::atomic<int> signature = 1;

 private:
  std::vector<std::pair<std::string, std::string>> linked(const std::string& name, const std::string& bytes) const {
    return {{"X-Repo-Commit", kCommit},
            {"X-Linked-Etag", "\"" + sha256_of(bytes) + "\""},
            {"X-Linked-Size", std::to_string(bytes.size())},
            {"ETag", "\"of-the-redirect\""},
            {"Location", fmt::format("{}/blob/{}?signature={}", cdn.url(), name, signature.load())}};
  }

  Reply answer_hub(const SeenRequest& request) {
    if (at_hub) {
      if (auto fault = at_hub(request)) return *fault;
    }
    for (const std::string& revision : {std::string("main"), kCommit}) {
      const std::string prefix = "/" + kRepository + "/resolve/" + revision + "/";
      if (!request.target.starts_with(prefix)) continue;
      const std::string name = request.target.substr(prefix.size());
      if (large_.contains(name)) return {.status = 302, .headers = linked(name, large_[name])};
      if (small_.contains(name)) {
        Reply reply = with_range(request, small_[name]);
        reply.headers.emplace_back("X-Repo-Commit", kCommit);
        reply.headers.emplace_back("ETag", "W/\"" + git_hash_of(small_[name]) + "\"");
        return reply;
      }
      return {.status = 404, .headers = {{"X-Error-Code", "EntryNotFound"}, {"X-Repo-Commit", kCommit}}};
    }
    const bool is_ours = request.target.starts_with("/" + kRepository + "/");
    if (is_ours) return {.status = 404, .headers = {{"X-Error-Code", "RevisionNotFound"}}};
    return {.status = 401, .headers = {{"X-Error-Code", "RepoNotFound"}}};
  }

  Reply answer_cdn(const SeenRequest& request) {
    if (at_cdn) {
      if (auto fault = at_cdn(request)) return *fault;
    }
    const auto query = request.target.find("?signature=");
    if (query == std::string::npos || request.target.substr(query + 11) != std::to_string(signature.load())) {
      return {.status = 403};
    }
    const std::string name = request.target.substr(6, query - 6);
    return large_.contains(name) ? with_range(request, large_[name]) : Reply{.status = 404};
  }

  std::map<std::string, std::string> large_;
  std::map<std::string, std::string> small_;

 public:
  // Last, so that they stop before what they use goes away.
  FakeServer cdn;
  FakeServer hub;
};

}  // namespace narthex::testing_hub
