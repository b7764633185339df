// How the hub is reached and where its cache lies, read from the variables that the hub's Python client reads.
//
//   hub_settings_from_environment()
//
// HF_ENDPOINT; HF_HUB_CACHE > HUGGINGFACE_HUB_CACHE > $HF_HOME/hub; HF_HOME, else $XDG_CACHE_HOME/huggingface, else
// ~/.cache/huggingface; HF_TOKEN > HUGGING_FACE_HUB_TOKEN > the file HF_TOKEN_PATH or $HF_HOME/token;
// HF_HUB_DISABLE_IMPLICIT_TOKEN; HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE; HF_HUB_ETAG_TIMEOUT, HF_HUB_DOWNLOAD_TIMEOUT
// (s); HF_HUB_DISABLE_SYMLINKS. Covered by tests/hub/hub_settings_test.cc.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "base/result.h"
#include "hub/http_client.h"

namespace narthex {

struct HubSettings {
  std::string endpoint = "https://huggingface.co";  // without a slash at the end
  std::filesystem::path cache;                      // the folder that holds models--org--name
  std::string token;                                // sent to the endpoint's own origin only
  bool offline = false;
  bool symlinks = true;
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds head_timeout{10'000};
  std::chrono::milliseconds download_timeout{10'000};
  // An attempt that brought bytes does not count: a bad line may break a hundred times as long as it moves on.
  int max_attempts = 5;
  std::chrono::milliseconds first_backoff{500};  // doubles up to max_backoff
  std::chrono::milliseconds max_backoff{10'000};
  std::chrono::seconds max_retry_after{60};  // a server that asks for more is given up
  HttpOptions http;                          // proxies; its timeouts are replaced by those above
};

Result<HubSettings> hub_settings_from_environment();

}  // namespace narthex
