#include "hub/url.h"

#include <gtest/gtest.h>

namespace narthex {
namespace {

TEST(Url, PartsAndDefaults) {
  const Url url = parse_url("HTTPS://Hub.Example/a%20b?x=1#f").value();
  EXPECT_EQ(url.scheme, "https");
  EXPECT_EQ(url.host, "hub.example");
  EXPECT_EQ(url.port, "443");
  EXPECT_EQ(url.target, "/a%20b?x=1");
  EXPECT_EQ(url.text, "https://hub.example/a%20b?x=1");
  EXPECT_EQ(without_query(url), "https://hub.example/a%20b");
  const Url six = parse_url("http://user:p%40ss@[::1]:8080").value();
  EXPECT_EQ(six.host, "::1");
  EXPECT_EQ(six.authority(), "[::1]:8080");
  EXPECT_EQ(six.target, "/");
  EXPECT_EQ(six.user_info, "user:p@ss");
  EXPECT_EQ(six.text.find("user"), std::string::npos);
}

TEST(Url, OnlyFetchableAddresses) {
  for (const char* bad :
       {"", "hub.example", "ftp://a/b", "file:///etc/passwd", "https://", "http://a b/", "http://a/\r\nX: y"}) {
    EXPECT_FALSE(parse_url(bad)) << bad;
  }
  EXPECT_FALSE(parse_url("http://a/" + std::string(100000, 'x')));
}

TEST(Url, ReferencesResolveAsTheRfcSays) {
  const Url base = parse_url("https://hub.example:444/a/resolve/main/f?q=1").value();
  EXPECT_EQ(resolve_url(base, "/b/c?d=%2F").value().text, "https://hub.example:444/b/c?d=%2F");
  EXPECT_EQ(resolve_url(base, "../x").value().text, "https://hub.example:444/a/resolve/x");
  EXPECT_EQ(resolve_url(base, "//cdn.example/y").value().text, "https://cdn.example/y");
  EXPECT_EQ(resolve_url(base, "http://cdn.example/y").value().text, "http://cdn.example/y");
  EXPECT_FALSE(resolve_url(base, "gopher://x/y"));
}

TEST(Url, PercentEncoding) {
  EXPECT_EQ(percent_encode("refs/pr/1"), "refs%2Fpr%2F1");
  EXPECT_EQ(percent_encode("onnx/model é.onnx", "/"), "onnx/model%20%C3%A9.onnx");
}

}  // namespace
}  // namespace narthex
