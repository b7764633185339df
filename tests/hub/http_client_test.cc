#include "hub/http_client.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "hub/fake_server.h"
#include "hub/test_tools.h"

namespace narthex {
namespace {

using testing_hub::FakeServer;
using testing_hub::Reply;
using testing_hub::SeenRequest;
using Kind = HttpFailure::Kind;

struct Fetched {
  std::expected<HttpResponse, HttpFailure> response;
  std::string body;
};

Fetched fetch(const std::string& url, const HttpOptions& options = {}, const std::string& method = "GET") {
  Fetched out{HttpResponse{}, ""};
  HttpBody body;
  body.on_bytes = [&](std::string_view bytes) -> Result<void> {
    out.body += bytes;
    return {};
  };
  out.response = HttpClient(options).send({.method = method, .url = parse_url(url).value(), .headers = {}}, body);
  return out;
}

HttpOptions impatient() {
  HttpOptions options;
  options.connect_timeout = std::chrono::milliseconds(300);
  options.idle_timeout = std::chrono::milliseconds(150);
  return options;
}

TEST(HttpClient, BodiesLargeChunkedAndNone) {
  const std::string big = testing_hub::noise(3'000'000);
  FakeServer server([&](const SeenRequest& request) -> Reply {
    if (request.target == "/chunked") {
      return {.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n"};
    }
    return {.headers = {{"X-Some-Name", "value"}}, .body = big};
  });
  Fetched whole = fetch(server.url() + "/big?a=b");
  ASSERT_TRUE(whole.response);
  EXPECT_EQ(whole.response->status, 200);
  EXPECT_EQ(whole.response->header("x-some-name"), "value");
  EXPECT_TRUE(whole.body == big);
  EXPECT_EQ(server.seen()[0].target, "/big?a=b");
  EXPECT_EQ(server.seen()[0].header("host"), server.url().substr(7));
  EXPECT_EQ(fetch(server.url() + "/chunked").body, "hello world");
  Fetched head = fetch(server.url() + "/big", {}, "HEAD");
  ASSERT_TRUE(head.response);
  EXPECT_EQ(head.response->header("content-length"), "3000000");
  EXPECT_EQ(head.body, "");
}

TEST(HttpClient, RedirectsAreHandedBack) {
  FakeServer server(
      [](const SeenRequest&) -> Reply { return {.status = 302, .headers = {{"Location", "/elsewhere"}}}; });
  EXPECT_EQ(fetch(server.url()).response->status, 302);
  EXPECT_EQ(server.seen().size(), 1U);
}

TEST(HttpClient, FailuresSayWhetherAnotherTryMayHelp) {
  FakeServer server([](const SeenRequest& request) -> Reply {
    if (request.target == "/cut") return {.body = std::string(1000, 'x'), .cut_after = 500};
    if (request.target == "/stall") return {.body = std::string(1000, 'x'), .stall_after = 500};
    if (request.target == "/slow") return {.delay = std::chrono::seconds(5)};
    if (request.target == "/long") return {.headers = {{"X-Long", std::string(100'000, 'x')}}};
    return {.raw = "this is no HTTP\r\n\r\n"};
  });
  Fetched cut = fetch(server.url() + "/cut");
  EXPECT_EQ(cut.response.error().kind, Kind::kInterrupted);
  EXPECT_EQ(cut.body.size(), 500U);  // what arrived is handed over: it can be continued
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(fetch(server.url() + "/stall", impatient()).response.error().kind, Kind::kInterrupted);
  EXPECT_EQ(fetch(server.url() + "/slow", impatient()).response.error().kind, Kind::kInterrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(3));
  EXPECT_EQ(fetch(server.url() + "/long").response.error().kind, Kind::kRefused);
  EXPECT_EQ(fetch(server.url() + "/malformed").response.error().kind, Kind::kRefused);
}

TEST(HttpClient, NobodyThereIsFoundOutQuickly) {
  int port = 0;
  {
    FakeServer gone([](const SeenRequest&) { return Reply{}; });
    port = gone.port();
  }
  const auto before = std::chrono::steady_clock::now();
  const Fetched refused = fetch(fmt::format("http://127.0.0.1:{}/", port));
  EXPECT_EQ(refused.response.error().kind, Kind::kUnreachable) << refused.response.error().error.message;
  const Fetched unknown = fetch("http://no-such-host.invalid/", impatient());
  EXPECT_EQ(unknown.response.error().kind, Kind::kUnreachable) << unknown.response.error().error.message;
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(3));
}

TEST(HttpClient, CancelAndHandlerErrorsEndTheExchange) {
  FakeServer server([](const SeenRequest&) -> Reply { return {.body = std::string(1000, 'x'), .stall_after = 10}; });
  HttpOptions options;
  const auto before = std::chrono::steady_clock::now();
  options.cancelled = [&] { return std::chrono::steady_clock::now() - before > std::chrono::milliseconds(100); };
  const Fetched stopped = fetch(server.url(), options);
  EXPECT_EQ(stopped.response.error().kind, Kind::kStopped);
  EXPECT_EQ(stopped.response.error().error.code, ErrorCode::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(2));
  HttpBody body;
  body.on_bytes = [](std::string_view) -> Result<void> { return fail(ErrorCode::kIo, "disk full"); };
  const auto full = HttpClient({}).send({.method = "GET", .url = parse_url(server.url()).value(), .headers = {}}, body);
  EXPECT_EQ(full.error().kind, Kind::kStopped);
  EXPECT_EQ(full.error().error.message, "disk full");
}

// A certificate for localhost that signs itself, and the server's side of TLS with it.
class TestCertificate {
 public:
  TestCertificate() {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME* name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_EXTENSION* names = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "DNS:localhost");
    X509_add_ext(certificate, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(certificate, key, EVP_sha256());
    context_ = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(context_, certificate);
    SSL_CTX_use_PrivateKey(context_, key);
    FILE* file = std::fopen((directory_ / "ca.pem").c_str(), "w");
    PEM_write_X509(file, certificate);
    std::fclose(file);
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  ~TestCertificate() { SSL_CTX_free(context_); }
  SSL_CTX* context() const { return context_; }
  std::string file() const { return (directory_ / "ca.pem").string(); }

 private:
  testing_hub::TemporaryDirectory directory_;
  SSL_CTX* context_ = nullptr;
};

TEST(HttpClient, TlsChecksAuthorityAndHostName) {
  testing_hub::Variables variables;
  const TestCertificate certificate;
  FakeServer server([](const SeenRequest&) { return Reply{.body = "secret"}; }, certificate.context());
  const Fetched untrusted = fetch(server.url("localhost"));
  ASSERT_FALSE(untrusted.response);
  EXPECT_EQ(untrusted.response.error().kind, Kind::kRefused);
  EXPECT_NE(untrusted.response.error().error.message.find("certificate of localhost is not trusted"), std::string::npos)
      << untrusted.response.error().error.message;
  variables.set("SSL_CERT_FILE", certificate.file());
  EXPECT_EQ(fetch(server.url("localhost")).body, "secret");
  const Fetched other_name = fetch(server.url("127.0.0.1"));
  ASSERT_FALSE(other_name.response);
  EXPECT_EQ(other_name.response.error().kind, Kind::kRefused) << other_name.response.error().error.message;
}

TEST(HttpClient, TunnelsThroughAProxyAndSpeaksTlsInside) {
  testing_hub::Variables variables;
  const TestCertificate certificate;
  variables.set("SSL_CERT_FILE", certificate.file());
  FakeServer server([](const SeenRequest&) { return Reply{.body = "through"}; }, certificate.context());
  FakeServer proxy([&](const SeenRequest& request) -> Reply {
    if (request.header("proxy-authorization") != "Basic dXNlcjpwdw==") return {.status = 407};
    return {.tunnel_port = server.port()};
  });
  HttpOptions options;
  options.https_proxy = fmt::format("http://user:pw@127.0.0.1:{}", proxy.port());
  EXPECT_EQ(fetch(server.url("localhost"), options).body, "through");
  EXPECT_EQ(proxy.seen()[0].method, "CONNECT");
  EXPECT_EQ(proxy.seen()[0].target, fmt::format("localhost:{}", server.port()));
  options.https_proxy = proxy.url();
  const Fetched refused = fetch(server.url("localhost"), options);
  EXPECT_EQ(refused.response.error().kind, Kind::kUnreachable);
  EXPECT_NE(refused.response.error().error.message.find("407"), std::string::npos);
}

TEST(HttpClient, PlainRequestsGiveTheProxyTheWholeAddress) {
  FakeServer proxy([](const SeenRequest&) { return Reply{.body = "proxied"}; });
  HttpOptions options;
  options.http_proxy = fmt::format("127.0.0.1:{}", proxy.port());  // without a scheme, as many environments have it
  EXPECT_EQ(fetch("http://models.example/a?b", options).body, "proxied");
  EXPECT_EQ(proxy.seen()[0].target, "http://models.example/a?b");
  EXPECT_EQ(proxy.seen()[0].header("host"), "models.example");
}

TEST(HttpClient, NoProxyRules) {
  HttpOptions options;
  options.http_proxy = "http://proxy.example:3128";
  const auto goes_through = [&](const std::string& rules, const std::string& url) {
    options.no_proxy = rules;
    return proxy_for(options, parse_url(url).value()).value().has_value();
  };
  EXPECT_TRUE(goes_through("", "http://a.example/"));
  EXPECT_FALSE(goes_through("*", "http://a.example/"));
  EXPECT_FALSE(goes_through("x.example, example", "http://a.example/"));
  EXPECT_FALSE(goes_through(".a.example", "http://a.example/"));
  EXPECT_TRUE(goes_through("a.example", "http://ba.example/"));
  EXPECT_FALSE(goes_through("a.example:8080", "http://a.example:8080/"));
  EXPECT_TRUE(goes_through("a.example:8080", "http://a.example/"));
  EXPECT_FALSE(goes_through("127.0.0.1,::1", "http://[::1]/"));
  EXPECT_FALSE(proxy_for({.https_proxy = "socks5://x:1"}, parse_url("https://a.example").value()));
}

}  // namespace
}  // namespace narthex
