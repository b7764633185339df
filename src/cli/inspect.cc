// narthex inspect: what a model is, what was recognised and folded, what runs how, and why each choice was made.
#include <CLI/CLI.hpp>

#include "base/json.h"
#include "cli/command.h"
#include "cli/model_options.h"
#include "cli/plan_report.h"
#include "cli/progress.h"
#include "graph/print.h"

namespace narthex::cli {
namespace {

struct Arguments {
  std::string model;
  std::string format = "text";
  std::string pooling;
  std::vector<std::string> skip_passes;
  std::string precision = "auto";
  bool onnx_exact = false;
  bool graph = false;
};

std::size_t node_count(const std::map<std::string, std::size_t>& ops) {
  std::size_t count = 0;
  for (const auto& [op, n] : ops) count += n;
  return count;
}

template <class T>
void print_choice(const char* name, const T& value, const std::string& reason) {
  fmt::print("  {:<12} {}  ({})\n", name, value, reason);
}

void print_graph_summary(const Program& program) {
  const Graph& graph = program.graph();
  const ProgramSummary& summary = program.summary();
  fmt::print("graph\n");
  for (const ValueId id : graph.inputs) fmt::print("  input        {}\n", value_string(graph, id));
  for (const ValueId id : graph.outputs) fmt::print("  output       {}\n", value_string(graph, id));
  fmt::print("  read         {} nodes: {}\n", node_count(summary.ops_before), ops_line(summary.ops_before));
  fmt::print("  runs as      {} nodes: {}\n", node_count(summary.ops_after), ops_line(summary.ops_after));
  std::map<std::string, std::size_t> by_eval;
  std::size_t by_kernel = 0;
  for (const StepSummary& step : summary.steps) {
    if (step.by_kernel) {
      ++by_kernel;
    } else {
      ++by_eval[step.op];
    }
  }
  fmt::print("  by kernels   {} of {} steps\n", by_kernel, summary.steps.size());
  if (!by_eval.empty()) fmt::print("  by reference {}\n", ops_line(by_eval));
  fmt::print("  weights      {} packed for the kernels, {} as they are\n", bytes_string(summary.packed_bytes),
             bytes_string(summary.constant_bytes));
  fmt::print("passes\n");
  for (const PassReport& pass : summary.passes.passes) {
    fmt::print("  {:<24} {:>5} changes  {:>7.1f} ms{}\n", pass.name, pass.changes, pass.milliseconds,
               pass.skipped ? "  skipped" : "");
  }
}

Result<void> print_text(const InspectedModel& model) {
  const OnnxEmbedder& embedder = *model.embedder;
  const ModelCard& card = embedder.card();
  const EmbedderInfo& info = embedder.info();
  fmt::print("model\n  {:<12} {}\n  {:<12} {}\n  {:<12} {}\n", "id", info.id, "graph", card.onnx_file.string(),
             "tokenizer", card.tokenizer_file.string());
  fmt::print("  {:<12} {} tokens\n", "vocabulary", embedder.tokenizer().vocab_size());
  if (!card.model_type.empty()) fmt::print("  {:<12} {}\n", "type", card.model_type);
  fmt::print("  {:<12} {}\n  {:<12} {} on {}\n", "dim", info.dim, "arithmetic", info.precision, info.isa);
  print_choice("output", embedder.output().name, embedder.output().reason);
  print_choice("pooling", embedder.output().pooling.to_string(), embedder.output().pooling_reason);
  print_choice("normalize", *card.normalize.value, card.normalize.reason);
  print_choice("max length", *card.max_length.value, card.max_length.reason);
  for (const auto& [name, text] : card.prompts) fmt::print("  {:<12} {} = \"{}\"\n", "prompt", name, text);
  print_plan(model.compiled);
  NX_TRY(const auto interpreter, embedder.interpreter());
  print_graph_summary(interpreter->program());
  return {};
}

void append_member(std::string& out, const char* name, const std::string& value, const std::string& reason) {
  out += fmt::format(",\"{}\":{{\"value\":", name);
  append_json_string(out, value);
  out += ",\"reason\":";
  append_json_string(out, reason);
  out += '}';
}

Result<void> print_json(const InspectedModel& model) {
  const OnnxEmbedder& embedder = *model.embedder;
  const ModelCard& card = embedder.card();
  NX_TRY(const auto interpreter, embedder.interpreter());
  const ProgramSummary& summary = interpreter->program().summary();
  std::string out = "{\"id\":";
  append_json_string(out, embedder.info().id);
  out += fmt::format(",\"dim\":{},\"semantic\":true,\"precision\":\"{}\",\"isa\":\"{}\"", embedder.info().dim,
                     embedder.info().precision, embedder.info().isa);
  append_member(out, "output", embedder.output().name, embedder.output().reason);
  append_member(out, "pooling", embedder.output().pooling.to_string(), embedder.output().pooling_reason);
  append_member(out, "normalize", *card.normalize.value ? "true" : "false", card.normalize.reason);
  append_member(out, "max_length", fmt::to_string(*card.max_length.value), card.max_length.reason);
  append_plan(out, model.compiled);
  out += ",\"nodes_read\":";
  append_counts(out, summary.ops_before);
  out += ",\"nodes_run\":";
  append_counts(out, summary.ops_after);
  std::map<std::string, std::size_t> by_eval;
  for (const StepSummary& step : summary.steps) {
    if (!step.by_kernel) ++by_eval[step.op];
  }
  out += ",\"by_reference\":";
  append_counts(out, by_eval);
  out += fmt::format(",\"packed_bytes\":{},\"constant_bytes\":{},\"passes\":[", summary.packed_bytes,
                     summary.constant_bytes);
  for (bool first = true; const PassReport& pass : summary.passes.passes) {
    out += fmt::format("{}{{\"name\":\"{}\",\"changes\":{},\"ms\":{:.3f},\"skipped\":{}}}", first ? "" : ",", pass.name,
                       pass.changes, pass.milliseconds, pass.skipped);
    first = false;
  }
  fmt::print("{}]}}\n", out);
  return {};
}

Result<void> inspect(const Arguments& arguments) {
  LoadOptions options;
  options.model = arguments.model;
  options.compile.passes.skip = arguments.skip_passes;
  options.precision = arguments.precision;
  options.onnx_exact = arguments.onnx_exact;
  if (!arguments.pooling.empty()) {
    NX_TRY(options.pooling, parse_pooling(arguments.pooling));
  }
  if (arguments.graph) {
    // The graph alone needs no tokenizer, no pooling, and no meaning of its inputs.
    std::filesystem::path file = arguments.model;
    if (!arguments.model.ends_with(".onnx")) {
      NX_TRY(const ResolvedModel resolved, resolve_model(arguments.model));
      NX_TRY(const ModelCard card, read_model_card(resolved.path, resolved.defaults));
      file = card.onnx_file;
    }
    NX_TRY(const std::shared_ptr<const Program> program, compile_file(file, options.compile));
    fmt::print("{}", print_graph(program->graph()));
    return {};
  }
  const auto model = inspect_model(options);
  if (!model) {
    // A graph without a tokenizer, or one that is no encoder, can still be shown as a graph.
    if (!arguments.model.ends_with(".onnx") || arguments.format == "json") return std::unexpected(model.error());
    NX_TRY(const std::shared_ptr<const Program> program, compile_file(arguments.model, options.compile));
    fmt::print("not usable as an embedder: {}\n", model.error().message);
    print_graph_summary(*program);
    return {};
  }
  return arguments.format == "json" ? print_json(*model) : print_text(*model);
}

}  // namespace

int run_inspect(const std::vector<std::string>& args) {
  Arguments arguments;
  CLI::App app("Show what a model is, how it will be run, and why.", "narthex inspect");
  app.footer("Example:\n  narthex inspect bge-small-en-v1.5\n  narthex inspect model.onnx --graph");
  app.add_option("model", arguments.model, "catalog name, model directory or .onnx file")->required();
  app.add_flag("--graph", arguments.graph, "print the nodes of the graph as it runs");
  app.add_option("--skip-pass", arguments.skip_passes, "leave out a pass of the compiler, to look for a fault");
  app.add_option("--precision", arguments.precision, "auto, fp32, bf16 or int8")->capture_default_str();
  app.add_flag("--onnx-exact", arguments.onnx_exact, "the graph's own arithmetic instead of a plan");
  app.add_option("--pooling", arguments.pooling, "as in `narthex embed`");
  app.add_option("--format", arguments.format, "output")->check(CLI::IsMember({"text", "json"}))->capture_default_str();
  if (const auto code = parse_arguments(app, args)) return *code;
  const auto done = inspect(arguments);
  return done ? kOk : report(done.error());
}

}  // namespace narthex::cli
