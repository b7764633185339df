// The entry points: the model message itself, and exceptions into Errors. The decoding lies in decode*.cc.
#include "onnx/read.h"

#include "base/file.h"
#include "onnx/decode.h"
#include "onnx/foreign.h"

namespace narthex::onnx {
namespace {

// Returns whether there was a graph.
bool decode_model(DecodeState& state, Model& model) {
  bool has_graph = false;
  Fields field(state, protozero::data_view(state.file.data(), state.file.size()));
  while (field.next()) {
    switch (field.key()) {
      case varint_key(1):
        model.ir_version = field.varint();
        break;
      case bytes_key(2):
        model.producer_name = field.name();
        break;
      case bytes_key(3):
        model.producer_version = field.name();
        break;
      case bytes_key(4):
        model.domain = field.name();
        break;
      case varint_key(5):
        model.model_version = field.varint();
        break;
      case bytes_key(7):
        has_graph = true;
        decode_graph(state, field.view(), model.graph);
        break;
      case bytes_key(8):
        decode_opset_import(state, field.view(), append(state, model.opset_imports));
        break;
      case bytes_key(14):
        append(state, model.metadata) = decode_entry(state, field.view());
        break;
      case bytes_key(25): {
        Function& function = append(state, model.functions);
        state.enter({"function", &function.name, nullptr, model.functions.size() - 1});
        decode_function(state, field.view(), function);
        state.leave();
        break;
      }
      default:
        field.skip();
    }
  }
  return has_graph;
}

// "node 'Softmax_13' (Softmax): attribute 'axis': ", as far as the names had been read.
std::string describe_trail(const std::vector<Place>& trail) {
  std::string text;
  for (const Place& place : trail) {
    text += place.kind;
    text += ' ';
    text += place.name->empty() ? fmt::format("number {}", place.index) : show_name(*place.name);
    if (place.op != nullptr && !place.op->empty())
      text += fmt::format(" ({})", std::string_view(*place.op).substr(0, 100));
    text += ": ";
  }
  return text;
}

Error damage(const DecodeState& state, const char* reason) {
  const auto offset = state.at == nullptr ? 0 : state.at - state.file.data();
  return {ErrorCode::kBadModel, fmt::format("damaged at byte {}: {}; get the file again", offset, reason)};
}

// The one place where exceptions end. The message lacks the name of the source.
Result<bool> decode_guarded(DecodeState& state, Model& model) {
  Error error;
  try {
    return decode_model(state, model);
  } catch (const Refusal& refusal) {
    error = {refusal.code, refusal.what};
  } catch (const protozero::end_of_buffer_exception&) {
    error = damage(state, "a field ends outside of its message");
  } catch (const protozero::varint_too_long_exception&) {
    error = damage(state, "a number has more than ten bytes");
  } catch (const protozero::invalid_tag_exception&) {
    error = damage(state, "a field has an impossible number");
  } catch (const protozero::unknown_pbf_wire_type_exception&) {
    error = damage(state, "a field has an encoding that ONNX does not use");
  } catch (const protozero::exception&) {
    error = damage(state, "a field is malformed");
  }
  error.message = describe_trail(state.trail) + error.message;
  return std::unexpected(std::move(error));
}

Result<std::shared_ptr<const Model>> read_bytes(std::string_view bytes, std::string source,
                                                const std::optional<std::filesystem::path>& external_dir,
                                                const ReadLimits& limits, std::shared_ptr<const void> owner) {
  if (bytes.size() > limits.max_file_bytes) {
    return fail(ErrorCode::kLimit, "{}: has {} bytes; at most {} are read", source, bytes.size(),
                limits.max_file_bytes);
  }
  auto model = std::make_shared<Model>();
  DecodeState state{.file = bytes,
                    .owner = std::move(owner),
                    .limits = limits,
                    .external = ExternalFiles(external_dir, limits.max_external_files)};
  std::uint64_t scaled = 0;
  if (__builtin_mul_overflow(std::uint64_t{bytes.size()}, limits.decoded_per_byte, &scaled) ||
      __builtin_add_overflow(scaled, limits.decoded_base_bytes, &state.budget)) {
    state.budget = UINT64_MAX;
  }
  const Result<bool> has_graph = decode_guarded(state, *model);
  if (!has_graph || !*has_graph) {
    if (const std::string foreign = describe_foreign(bytes); !foreign.empty()) {
      return fail(ErrorCode::kBadModel, "{}: {}", source, foreign);
    }
    if (has_graph) {
      return fail(ErrorCode::kBadModel,
                  "{}: has no graph: it is not an ONNX model, or it is cut short; get the file again", source);
    }
    return fail(has_graph.error().code, "{}: {}", source, has_graph.error().message);
  }
  model->source = std::move(source);
  model->file_bytes = bytes.size();
  model->external_bytes = state.external_bytes;
  model->external_locations = state.external.locations();
  return model;
}

}  // namespace

Result<std::shared_ptr<const Model>> read_model(const std::filesystem::path& path, const ReadLimits& limits) {
  NX_TRY(const std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  const std::string_view bytes(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  const std::filesystem::path directory = path.has_parent_path() ? path.parent_path() : ".";
  return read_bytes(bytes, path.string(), directory, limits, file);
}

Result<std::shared_ptr<const Model>> read_model(std::span<const std::byte> bytes, std::string source,
                                                const std::optional<std::filesystem::path>& external_dir,
                                                const ReadLimits& limits, std::shared_ptr<const void> owner) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return read_bytes(text, std::move(source), external_dir, limits, std::move(owner));
}

}  // namespace narthex::onnx
