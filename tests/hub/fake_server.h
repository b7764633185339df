// A server of plain sockets on the loopback that answers as a test tells it, and breaks as a test tells it.
//
//   FakeServer server([](const SeenRequest& r) { return Reply{.body = "hello"}; });
//   server.url() + "/path"; server.seen()
//
// Every connection carries one request. With a certificate it speaks TLS; a reply with `tunnel_port` makes it a proxy.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fmt/format.h"

namespace narthex::testing_hub {

struct SeenRequest {
  std::string method;
  std::string target;
  std::map<std::string, std::string> headers;  // names in lower case

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
  }
};

struct Reply {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  std::optional<std::uint64_t> content_length = {};  // what is announced; the body's size by default
  std::optional<std::size_t> cut_after = {};         // bytes of the body, then the connection ends
  std::optional<std::size_t> stall_after = {};       // bytes of the body, then nothing until the server ends
  std::chrono::milliseconds delay{0};
  std::string raw = {};  // sent instead of everything else
  int tunnel_port = 0;
};

class FakeServer {
 public:
  using Handler = std::function<Reply(const SeenRequest&)>;

  explicit FakeServer(Handler handler, SSL_CTX* tls = nullptr) : handler_(std::move(handler)), tls_(tls) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener_, 64);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~FakeServer() {
    stopping_ = true;
    acceptor_.join();
    for (std::thread& worker : workers_) worker.join();
    ::close(listener_);
  }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  int port() const { return port_; }
  std::string url(const std::string& host = "127.0.0.1") const {
    return fmt::format("{}://{}:{}", tls_ == nullptr ? "http" : "https", host, port_);
  }
  std::vector<SeenRequest> seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  std::size_t count(const std::string& method) const {
    std::size_t n = 0;
    for (const SeenRequest& request : seen()) n += request.method == method ? 1 : 0;
    return n;
  }
  bool is_stopping() const { return stopping_; }

 private:
  // Either a socket or TLS over it.
  struct Wire {
    int fd;
    SSL* ssl;
    ssize_t read(char* to, std::size_t n) const {
      return ssl == nullptr ? ::recv(fd, to, n, 0) : SSL_read(ssl, to, static_cast<int>(n));
    }
    bool write(std::string_view bytes) const {
      while (!bytes.empty()) {
        const ssize_t put = ssl == nullptr ? ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL)
                                           : SSL_write(ssl, bytes.data(), static_cast<int>(bytes.size()));
        if (put <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(put));
      }
      return true;
    }
  };

  void accept_all() {
    while (!stopping_) {
      pollfd waiting{.fd = listener_, .events = POLLIN, .revents = 0};
      if (::poll(&waiting, 1, 10) <= 0) continue;
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd >= 0) workers_.emplace_back([this, fd] { serve(fd); });
    }
  }

  void serve(int fd) {
    SSL* ssl = nullptr;
    if (tls_ != nullptr) {
      ssl = SSL_new(tls_);
      SSL_set_fd(ssl, fd);
      if (SSL_accept(ssl) != 1) {
        SSL_free(ssl);
        ::close(fd);
        return;
      }
    }
    const Wire wire{fd, ssl};
    if (auto request = read_request(wire)) {
      {
        const std::lock_guard lock(mutex_);
        seen_.push_back(*request);
      }
      answer(wire, *request, handler_(*request));
    }
    if (ssl != nullptr) {
      SSL_shutdown(ssl);
      SSL_free(ssl);
    }
    ::close(fd);
  }

  static std::optional<SeenRequest> read_request(const Wire& wire) {
    std::string text;
    char block[4096];
    while (text.find("\r\n\r\n") == std::string::npos) {
      const ssize_t got = wire.read(block, sizeof block);
      if (got <= 0) return std::nullopt;
      text.append(block, static_cast<std::size_t>(got));
    }
    SeenRequest request;
    request.method = text.substr(0, text.find(' '));
    const auto begin = request.method.size() + 1;
    request.target = text.substr(begin, text.find(' ', begin) - begin);
    std::size_t at = text.find("\r\n") + 2;
    while (text.compare(at, 2, "\r\n") != 0) {
      const auto end = text.find("\r\n", at);
      const auto colon = text.find(':', at);
      std::string name = text.substr(at, colon - at);
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      request.headers[name] = text.substr(colon + 2, end - colon - 2);
      at = end + 2;
    }
    return request;
  }

  void answer(const Wire& wire, const SeenRequest& request, const Reply& reply) {
    const auto until = std::chrono::steady_clock::now() + reply.delay;
    while (!stopping_ && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (!reply.raw.empty()) {
      wire.write(reply.raw);
      return;
    }
    if (reply.tunnel_port != 0) return splice(wire.fd, reply.tunnel_port);
    std::string head = fmt::format("HTTP/1.1 {} Status\r\n", reply.status);
    for (const auto& [name, value] : reply.headers) head += fmt::format("{}: {}\r\n", name, value);
    head += fmt::format("Content-Length: {}\r\nConnection: close\r\n\r\n",
                        reply.content_length.value_or(reply.body.size()));
    if (!wire.write(head) || request.method == "HEAD") return;
    const std::size_t n_bytes = reply.cut_after.value_or(reply.stall_after.value_or(reply.body.size()));
    wire.write(std::string_view(reply.body).substr(0, n_bytes));
    while (reply.stall_after && !stopping_) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  void splice(int client, int port) const {
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    const bool is_connected = ::connect(server, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    const std::string_view ok = "HTTP/1.1 200 Connection established\r\n\r\n";
    ::send(client, ok.data(), ok.size(), MSG_NOSIGNAL);
    bool is_open = is_connected;
    while (is_open && !stopping_) {
      pollfd both[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
      if (::poll(both, 2, 10) <= 0) continue;
      for (int i = 0; i < 2 && is_open; ++i) {
        if (both[i].revents == 0) continue;
        char block[16384];
        const ssize_t got = ::recv(both[i].fd, block, sizeof block, 0);
        is_open = got > 0 && ::send(both[1 - i].fd, block, static_cast<std::size_t>(got), MSG_NOSIGNAL) == got;
      }
    }
    ::close(server);
  }

  Handler handler_;
  SSL_CTX* tls_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_ = false;
  mutable std::mutex mutex_;
  std::vector<SeenRequest> seen_;
  std::vector<std::thread> workers_;
  std::thread acceptor_;
};

}  // namespace narthex::testing_hub
