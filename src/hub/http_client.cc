#include "hub/http_client.h"

#include <netdb.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>

#include "base/home.h"

namespace narthex {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Clock = std::chrono::steady_clock;
using Kind = HttpFailure::Kind;
using Code = boost::system::error_code;
using Tcp = asio::ip::tcp;
// A concrete executor: the default one erases its type, which costs compile time and run time for nothing.
using Socket = asio::basic_stream_socket<Tcp, asio::io_context::executor_type>;
using TlsStream = asio::ssl::stream<Socket&>;

constexpr std::chrono::milliseconds kPoll{50};
constexpr std::size_t kBodyBlock = 256 * 1024;

template <class... Args>
std::unexpected<HttpFailure> failure(Kind kind, fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(HttpFailure{kind, Error{ErrorCode::kIo, fmt::format(format, std::forward<Args>(args)...)}});
}

std::unexpected<HttpFailure> stopped(Error error) {
  return std::unexpected(HttpFailure{Kind::kStopped, std::move(error)});
}

// What the look-up thread leaves behind. It may outlive the request: getaddrinfo cannot be interrupted.
struct Lookup {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  int code = 0;
  std::vector<Tcp::endpoint> endpoints;
};

void look_up(const std::string& host, const std::string& port, const std::shared_ptr<Lookup>& lookup) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  int code = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (code != 0) {  // AI_ADDRCONFIG hides loopback addresses on a machine without a network
    hints.ai_flags = 0;
    code = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  }
  const std::lock_guard lock(lookup->mutex);
  lookup->code = code;
  for (const addrinfo* at = code == 0 ? found : nullptr; at != nullptr; at = at->ai_next) {
    Tcp::endpoint endpoint;
    if (at->ai_addrlen > endpoint.capacity()) continue;
    std::memcpy(endpoint.data(), at->ai_addr, at->ai_addrlen);
    endpoint.resize(at->ai_addrlen);
    lookup->endpoints.push_back(endpoint);
  }
  if (code == 0) ::freeaddrinfo(found);
  lookup->done = true;
  lookup->changed.notify_all();
}

// A statically linked OpenSSL looks where it was built for; these are where distributions keep their certificates.
void trust_system_certificates(SSL_CTX* context) {
  SSL_CTX_set_default_verify_paths(context);  // honours SSL_CERT_FILE and SSL_CERT_DIR
  if (!environment("SSL_CERT_FILE").empty() || !environment("SSL_CERT_DIR").empty()) return;
  for (const char* bundle :
       {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"}) {
    std::error_code ignored;
    if (std::filesystem::exists(bundle, ignored)) {
      SSL_CTX_load_verify_locations(context, bundle, nullptr);
      return;
    }
  }
}

std::string base64(std::string_view text) {
  std::string out(4 * ((text.size() + 2) / 3), '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), reinterpret_cast<const unsigned char*>(text.data()),
                  static_cast<int>(text.size()));
  return out;
}

class Exchange {
 public:
  Exchange(const HttpOptions& options, const HttpRequest& request, const HttpBody& body)
      : options_(options), request_(request), body_(body), tls_(asio::ssl::context::tls_client) {}

  std::expected<HttpResponse, HttpFailure> run() {
    auto proxy = proxy_for(options_, request_.url);
    if (!proxy) return stopped(std::move(proxy).error());
    proxy_ = std::move(*proxy);
    const bool is_tls = request_.url.scheme == "https";
    if (auto done = connect(proxy_ ? *proxy_ : request_.url); !done) return std::unexpected(std::move(done).error());
    if (!is_tls) return exchange(socket_, proxy_.has_value());
    if (proxy_) {
      if (auto done = open_tunnel(); !done) return std::unexpected(std::move(done).error());
    }
    prepare_tls();
    TlsStream stream(socket_, tls_);
    if (auto done = shake_hands(stream); !done) return std::unexpected(std::move(done).error());
    return exchange(stream, false);
  }

 private:
  using Step = std::expected<void, HttpFailure>;

  bool cancelled() const { return options_.cancelled && options_.cancelled(); }
  std::unexpected<HttpFailure> cancelled_failure() const {
    return stopped(Error{ErrorCode::kCancelled, fmt::format("{}: cancelled", without_query(request_.url))});
  }

  // Runs one asynchronous operation to its end, to its deadline or to the user's cancel. `start` gets the handler.
  template <class Start>
  Code await(std::chrono::milliseconds limit, Start&& start) {
    std::optional<Code> result;
    start([&result](const Code& code, auto&&...) { result = code; });
    const auto deadline = Clock::now() + limit;
    timed_out_ = false;
    was_cancelled_ = false;
    while (!result) {
      io_.restart();
      io_.run_one_for(kPoll);
      if (result) break;
      was_cancelled_ = cancelled();
      timed_out_ = Clock::now() >= deadline;
      if (!was_cancelled_ && !timed_out_) continue;
      Code ignored;
      ignored = socket_.close(ignored);
      while (!result) {
        io_.restart();
        io_.run_one();
      }
      return asio::error::operation_aborted;
    }
    return *result;
  }

  // The failure of a step, with what was being done and to whom.
  std::unexpected<HttpFailure> broken(Kind kind, const Code& code, std::string_view what,
                                      std::chrono::milliseconds limit) const {
    if (was_cancelled_) return cancelled_failure();
    if (timed_out_)
      return failure(kind, "{}: no answer within {:.1f} s while {}", without_query(request_.url),
                     static_cast<double>(limit.count()) / 1000, what);
    return failure(kind, "{}: failed while {}: {}", without_query(request_.url), what, code.message());
  }

  std::expected<std::vector<Tcp::endpoint>, HttpFailure> resolve(const Url& peer) {
    auto lookup = std::make_shared<Lookup>();
    std::thread([lookup, host = peer.host, port = peer.port] { look_up(host, port, lookup); }).detach();
    const auto deadline = Clock::now() + options_.connect_timeout;
    std::unique_lock lock(lookup->mutex);
    while (!lookup->done) {
      lookup->changed.wait_for(lock, kPoll);
      if (lookup->done) break;
      if (cancelled()) return cancelled_failure();
      if (Clock::now() >= deadline) {
        return failure(Kind::kUnreachable, "the name {} could not be looked up within {:.1f} s", peer.host,
                       static_cast<double>(options_.connect_timeout.count()) / 1000);
      }
    }
    if (lookup->code != 0) {
      return failure(Kind::kUnreachable, "the name {} could not be looked up: {}", peer.host,
                     ::gai_strerror(lookup->code));
    }
    return std::move(lookup->endpoints);
  }

  Step connect(const Url& peer) {
    auto endpoints = resolve(peer);
    if (!endpoints) return std::unexpected(std::move(endpoints).error());
    const auto deadline = Clock::now() + options_.connect_timeout;
    Code code = asio::error::host_not_found;
    for (const Tcp::endpoint& endpoint : *endpoints) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      if (left.count() <= 0) break;
      Code ignored;
      ignored = socket_.close(ignored);
      code = await(left, [&](auto handler) { socket_.async_connect(endpoint, std::move(handler)); });
      if (!code) {
        ignored = socket_.set_option(Tcp::no_delay(true), ignored);
        return {};
      }
      if (was_cancelled_) return cancelled_failure();
    }
    if (timed_out_) {
      return failure(Kind::kUnreachable, "{}{} does not answer within {:.1f} s", proxy_ ? "the proxy " : "",
                     peer.host_and_port(), static_cast<double>(options_.connect_timeout.count()) / 1000);
    }
    return failure(Kind::kUnreachable, "{}{}: {}", proxy_ ? "the proxy " : "", peer.host_and_port(), code.message());
  }

  Step open_tunnel() {
    http::request<http::empty_body> request(http::verb::connect, request_.url.host_and_port(), 11);
    request.set(http::field::host, request_.url.host_and_port());
    add_proxy_credentials(request);
    http::request_serializer<http::empty_body> serializer(request);
    Code code = await(options_.connect_timeout,
                      [&](auto handler) { http::async_write(socket_, serializer, std::move(handler)); });
    if (code) return broken(Kind::kUnreachable, code, "asking the proxy for a tunnel", options_.connect_timeout);
    http::response_parser<http::empty_body> parser;
    parser.skip(true);  // what follows a tunnel's header belongs to the tunnel
    parser.header_limit(options_.max_header_bytes);
    // Nothing may follow the header before our side speaks TLS, so a buffer of its own loses nothing.
    beast::flat_buffer buffer;
    code = await(options_.connect_timeout,
                 [&](auto handler) { http::async_read_header(socket_, buffer, parser, std::move(handler)); });
    if (code) return broken(Kind::kUnreachable, code, "asking the proxy for a tunnel", options_.connect_timeout);
    if (parser.get().result_int() / 100 != 2) {
      return failure(Kind::kUnreachable, "the proxy {} refuses a tunnel to {} with status {}", proxy_->host_and_port(),
                     request_.url.host_and_port(), parser.get().result_int());
    }
    return {};
  }

  template <class Request>
  void add_proxy_credentials(Request& request) const {
    if (!proxy_->user_info.empty()) request.set(http::field::proxy_authorization, "Basic " + base64(proxy_->user_info));
  }

  void prepare_tls() {
    SSL_CTX* context = tls_.native_handle();
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    trust_system_certificates(context);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  }

  Step shake_hands(TlsStream& stream) {
    const std::string& host = request_.url.host;
    SSL* ssl = stream.native_handle();
    Code not_an_address;
    asio::ip::make_address(host, not_an_address);
    if (not_an_address) {
      SSL_set_tlsext_host_name(ssl, host.c_str());
      SSL_set1_host(ssl, host.c_str());
    } else {
      X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str());
    }
    const Code code = await(options_.connect_timeout, [&](auto handler) {
      stream.async_handshake(asio::ssl::stream_base::client, std::move(handler));
    });
    if (!code) return {};
    if (const long verified = SSL_get_verify_result(ssl); verified != X509_V_OK && !was_cancelled_ && !timed_out_) {
      return failure(Kind::kRefused,
                     "the certificate of {} is not trusted: {} (SSL_CERT_FILE names another set of authorities)", host,
                     X509_verify_cert_error_string(verified));
    }
    return broken(Kind::kUnreachable, code, "starting TLS", options_.connect_timeout);
  }

  template <class Stream>
  std::expected<HttpResponse, HttpFailure> exchange(Stream& stream, bool through_proxy) {
    http::request<http::empty_body> request;
    request.version(11);
    request.method_string(request_.method);
    request.target(through_proxy ? request_.url.text : request_.url.target);
    request.set(http::field::host, request_.url.authority());
    request.set(http::field::connection, "close");
    if (through_proxy) add_proxy_credentials(request);
    for (const auto& [name, value] : request_.headers) request.set(name, value);
    http::request_serializer<http::empty_body> serializer(request);
    Code code =
        await(options_.idle_timeout, [&](auto handler) { http::async_write(stream, serializer, std::move(handler)); });
    if (code) return broken(Kind::kInterrupted, code, "sending the request", options_.idle_timeout);
    http::response_parser<http::buffer_body> parser;
    parser.header_limit(options_.max_header_bytes);
    parser.body_limit(options_.max_body_bytes);
    parser.skip(request_.method == "HEAD");
    beast::flat_buffer buffer(options_.max_header_bytes + kBodyBlock);
    code = await(options_.idle_timeout,
                 [&](auto handler) { http::async_read_header(stream, buffer, parser, std::move(handler)); });
    if (code) return broken(kind_of(code), code, "waiting for the answer", options_.idle_timeout);
    HttpResponse response;
    response.status = static_cast<int>(parser.get().result_int());
    for (const auto& field : parser.get().base()) {
      std::string name(field.name_string());
      for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      response.headers.emplace_back(std::move(name), std::string(field.value()));
    }
    if (body_.on_head) {
      auto wanted = body_.on_head(response);
      if (!wanted) return stopped(std::move(wanted).error());
      if (!*wanted) return response;
    }
    if (auto done = read_body(stream, buffer, parser); !done) return std::unexpected(std::move(done).error());
    return response;
  }

  template <class Stream, class Parser>
  Step read_body(Stream& stream, beast::flat_buffer& buffer, Parser& parser) {
    std::vector<char> block(kBodyBlock);
    while (!parser.is_done()) {
      parser.get().body().data = block.data();
      parser.get().body().size = block.size();
      const Code code = await(options_.idle_timeout,
                              [&](auto handler) { http::async_read_some(stream, buffer, parser, std::move(handler)); });
      const std::size_t n_bytes = block.size() - parser.get().body().size;
      if (n_bytes > 0 && body_.on_bytes) {
        if (auto taken = body_.on_bytes(std::string_view(block.data(), n_bytes)); !taken) {
          return stopped(std::move(taken).error());
        }
      }
      if (code && code != http::error::need_buffer) {
        return broken(kind_of(code), code, "receiving the body", options_.idle_timeout);
      }
      if (cancelled()) return cancelled_failure();
    }
    return {};
  }

  static Kind kind_of(const Code& code) {
    const bool is_malformed = code.category() == http::make_error_code(http::error::end_of_stream).category() &&
                              code != http::error::end_of_stream && code != http::error::partial_message;
    return is_malformed ? Kind::kRefused : Kind::kInterrupted;
  }

  const HttpOptions& options_;
  const HttpRequest& request_;
  const HttpBody& body_;
  std::optional<Url> proxy_;
  asio::io_context io_;
  Socket socket_{io_};
  asio::ssl::context tls_;
  bool timed_out_ = false;
  bool was_cancelled_ = false;
};

}  // namespace

std::string HttpResponse::header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_case_name) return value;
  }
  return {};
}

std::expected<HttpResponse, HttpFailure> HttpClient::send(const HttpRequest& request, const HttpBody& body) const {
  try {
    return Exchange(options_, request, body).run();
  } catch (const std::exception& e) {  // Asio's constructors throw when the system is out of descriptors or threads
    return failure(Kind::kRefused, "{}: {}", without_query(request.url), e.what());
  }
}

}  // namespace narthex
