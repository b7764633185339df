#include "hub/hub_settings.h"

#include <gtest/gtest.h>

#include "hub/test_tools.h"

namespace narthex {
namespace {

using testing_hub::TemporaryDirectory;
using testing_hub::Variables;

HubSettings read() {
  auto settings = hub_settings_from_environment();
  EXPECT_TRUE(settings) << settings.error().message;
  return settings.value_or(HubSettings{});
}

TEST(HubSettings, CacheFollowsThePythonClientsOrder) {
  Variables v;
  v.set("HOME", "/home/ada");
  EXPECT_EQ(read().cache, "/home/ada/.cache/huggingface/hub");
  v.set("XDG_CACHE_HOME", "/c");
  EXPECT_EQ(read().cache, "/c/huggingface/hub");
  v.set("HF_HOME", "~/hf");
  EXPECT_EQ(read().cache, "/home/ada/hf/hub");
  v.set("HUGGINGFACE_HUB_CACHE", "/old");
  EXPECT_EQ(read().cache, "/old");
  v.set("HF_HUB_CACHE", "/new");
  EXPECT_EQ(read().cache, "/new");
}

TEST(HubSettings, TokenPrecedenceAndTrimming) {
  Variables v;
  const TemporaryDirectory home;
  v.set("HF_HOME", home.path().string());
  EXPECT_EQ(read().token, "");
  testing_hub::write_text(home / "token", "hf_file\n");
  EXPECT_EQ(read().token, "hf_file");
  testing_hub::write_text(home / "other", " hf_other ");
  v.set("HF_TOKEN_PATH", (home / "other").string());
  EXPECT_EQ(read().token, "hf_other");
  v.set("HUGGING_FACE_HUB_TOKEN", "hf_old");
  EXPECT_EQ(read().token, "hf_old");
  v.set("HF_TOKEN", " hf_new\n");
  EXPECT_EQ(read().token, "hf_new");
  v.set("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1");
  EXPECT_EQ(read().token, "");
  v.set("HF_HUB_DISABLE_IMPLICIT_TOKEN", "0");
  v.set("HF_TOKEN", "hf_a\r\nX-Injected: yes");
  const auto injected = hub_settings_from_environment();
  ASSERT_FALSE(injected);
  EXPECT_EQ(injected.error().message.find("Injected"), std::string::npos);  // a token is not printed
}

TEST(HubSettings, SwitchesEndpointAndTimeouts) {
  Variables v;
  v.set("HOME", "/home/ada");
  EXPECT_EQ(read().endpoint, "https://huggingface.co");
  EXPECT_FALSE(read().offline);
  for (const char* on : {"1", "on", "Yes", "TRUE"}) {
    v.set("HF_HUB_OFFLINE", on);
    EXPECT_TRUE(read().offline) << on;
  }
  v.set("HF_HUB_OFFLINE", "0");
  v.set("TRANSFORMERS_OFFLINE", "1");
  EXPECT_TRUE(read().offline);
  v.set("HF_ENDPOINT", "https://mirror.example/hf//");
  EXPECT_EQ(read().endpoint, "https://mirror.example/hf");
  v.set("HF_HUB_ETAG_TIMEOUT", "2.5");
  v.set("HF_HUB_DOWNLOAD_TIMEOUT", "30");
  EXPECT_EQ(read().head_timeout.count(), 2500);
  EXPECT_EQ(read().download_timeout.count(), 30'000);
  v.set("HF_HUB_DOWNLOAD_TIMEOUT", "soon");
  EXPECT_EQ(hub_settings_from_environment().error().message,
            "HF_HUB_DOWNLOAD_TIMEOUT: expected a number of seconds, found 'soon'");
  v.set("HF_HUB_DOWNLOAD_TIMEOUT", "nan");
  EXPECT_FALSE(hub_settings_from_environment());
  v.set("HF_HUB_DOWNLOAD_TIMEOUT", nullptr);
  v.set("HF_ENDPOINT", "mirror.example");
  EXPECT_EQ(hub_settings_from_environment().error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace narthex
