#include "plan/interpreter.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "ops/evaluate.h"
#include "plan/bind.h"
#include "plan/fast_ops.h"

namespace narthex {
namespace {

struct Step {
  const Node* node = nullptr;
  const FastOp* fast = nullptr;  // nullptr: `eval`
  Prepared prepared;
  std::vector<bool> dying;     // per input: this step is the last to read it
  std::vector<ValueId> freed;  // values to drop afterwards: those inputs, and outputs that nobody reads
};

// What one run needs; kept for the next one.
struct RunState {
  RunState(std::size_t n_values, std::uint64_t max_tensor_bytes) : values(n_values), pool(max_tensor_bytes) {}
  std::vector<Tensor> values;
  BufferPool pool;
  std::vector<const Tensor*> inputs;
  std::vector<Tensor*> dying;
  std::vector<Tensor> outputs;
};

std::map<std::string, std::size_t> count_ops(const Graph& graph) {
  std::map<std::string, std::size_t> counts;
  for (const Node& node : graph.nodes) ++counts[node.domain.empty() ? node.op : node.domain + "." + node.op];
  return counts;
}

// For each value the last step that reads it; n_nodes for outputs of the graph.
std::vector<std::size_t> last_reads(const Graph& graph) {
  std::vector<std::size_t> last(graph.values.size(), 0);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId v : graph.nodes[i].outputs) {
      if (v != kNoValue) last[static_cast<std::size_t>(v)] = i;
    }
    for (const ValueId v : graph.nodes[i].inputs) {
      if (v != kNoValue) last[static_cast<std::size_t>(v)] = i;
    }
  }
  for (const ValueId v : graph.outputs) last[static_cast<std::size_t>(v)] = graph.nodes.size();
  return last;
}

void add_lifetimes(const Graph& graph, std::size_t index, const std::vector<std::size_t>& last, Step& step) {
  const auto dies_here = [&](ValueId v) {
    return v != kNoValue && last[static_cast<std::size_t>(v)] == index && !graph.value(v).constant;
  };
  for (const ValueId v : step.node->inputs) step.dying.push_back(dies_here(v));
  for (const auto& list : {step.node->inputs, step.node->outputs}) {
    for (const ValueId v : list) {
      if (dies_here(v)) step.freed.push_back(v);
    }
  }
}

// Packed matrices by what they are made from, so that shared weights are packed once.
class PreparedCache {
 public:
  Result<Prepared> get(const Graph& graph, const Node& node, const FastOp& fast) {
    const std::vector<ValueId> sources(node.inputs.begin() + 1, node.inputs.end());
    const Key key(&fast, sources, node.int_attr("transposed", 0).value_or(0));
    if (const auto found = entries_.find(key); found != entries_.end()) return Prepared{found->second.data, 0};
    NX_TRY(Prepared prepared, fast.prepare(graph, node));
    entries_.emplace(key, prepared);
    return prepared;
  }

 private:
  using Key = std::tuple<const FastOp*, std::vector<ValueId>, std::int64_t>;
  std::map<Key, Prepared> entries_;
};

Result<std::vector<Step>> make_steps(const Graph& graph, const CompileOptions& options, ProgramSummary& summary) {
  const std::vector<std::size_t> last = last_reads(graph);
  PreparedCache cache;
  std::vector<Step> steps(graph.nodes.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Node& node = graph.nodes[i];
    Step& step = steps[i];
    step.node = &node;
    if (node.def == nullptr || node.def->eval == nullptr) {
      return std::unexpected(node_error(graph, node, {ErrorCode::kUnsupported, "the operator cannot be run"}));
    }
    step.fast = options.use_kernels ? find_fast_op(graph, node) : nullptr;
    if (step.fast != nullptr && step.fast->prepare != nullptr) {
      NX_TRY(step.prepared, cache.get(graph, node, *step.fast));
      summary.packed_bytes += step.prepared.bytes;
    }
    add_lifetimes(graph, i, last, step);
    summary.steps.push_back(
        {node.name, node.domain.empty() ? node.op : node.domain + "." + node.op, step.fast != nullptr});
  }
  return steps;
}

// Frees the bytes of constants that only exist in packed form from now on: half of a model's memory.
void release_packed_constants(Graph& graph, const std::vector<Step>& steps) {
  std::vector<bool> read(graph.values.size(), false);
  for (const ValueId v : graph.outputs) read[static_cast<std::size_t>(v)] = true;
  for (const Step& step : steps) {
    for (std::size_t i = 0; i < step.node->inputs.size(); ++i) {
      const ValueId v = step.node->inputs[i];
      if (v == kNoValue) continue;
      const bool packed = i == 1 && step.fast != nullptr && step.fast->replaces_weights;
      if (!packed) read[static_cast<std::size_t>(v)] = true;
    }
  }
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    auto& constant = graph.values[v].constant;
    // What nobody reads (folded away, or a default nobody uses) goes too.
    if (constant && !read[v]) constant = constant->without_bytes();
  }
}

}  // namespace

struct Program::Impl {
  Graph graph;
  ProgramSummary summary;
  std::vector<Step> steps;
  EvaluateLimits limits;
  Team* team = nullptr;

  std::mutex mutex;
  std::vector<std::unique_ptr<RunState>> idle;  // guarded by `mutex`

  std::unique_ptr<RunState> acquire() {
    const std::scoped_lock lock(mutex);
    if (idle.empty()) return std::make_unique<RunState>(graph.values.size(), limits.max_tensor_bytes);
    auto state = std::move(idle.back());
    idle.pop_back();
    return state;
  }

  void release(std::unique_ptr<RunState> state) {
    for (Tensor& value : state->values) value = Tensor();
    state->outputs.clear();
    state->pool.trim();
    const std::scoped_lock lock(mutex);
    idle.push_back(std::move(state));
  }

  const Tensor* find(RunState& state, ValueId v) const {
    if (v == kNoValue) return nullptr;
    if (graph.value(v).constant) return &*graph.value(v).constant;
    const Tensor& tensor = state.values[static_cast<std::size_t>(v)];
    return tensor.dtype() == DType::kUndefined ? nullptr : &tensor;
  }

  // Whether the inputs have the types that the kernel was chosen for.
  bool types_hold(const RunState& state, const Step& step) const {
    for (std::size_t i = 0; i < state.inputs.size(); ++i) {
      const bool present = state.inputs[i] != nullptr;
      if (present != step.node->has_input(i)) return false;
      if (!present) continue;
      const DType declared = graph.value(step.node->inputs[i]).dtype;
      if (declared != DType::kUndefined && declared != state.inputs[i]->dtype()) return false;
    }
    return true;
  }

  Result<void> run_step(const Step& step, RunState& state) const {
    const Node& node = *step.node;
    state.inputs.clear();
    state.dying.clear();
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId v = node.inputs[i];
      state.inputs.push_back(find(state, v));
      state.dying.push_back(step.dying[i] ? &state.values[static_cast<std::size_t>(v)] : nullptr);
    }
    state.outputs.assign(node.outputs.size(), Tensor());
    bool done = false;
    if (step.fast != nullptr && types_hold(state, step)) {
      StepContext context(node, state.inputs, state.outputs, state.dying, state.pool, *team, step.prepared.data.get());
      auto status = step.fast->run(context);
      if (!status) return std::unexpected(node_error(graph, node, std::move(status).error()));
      done = *status;
    }
    if (!done) {
      if (step.fast != nullptr && step.fast->replaces_weights) {
        return std::unexpected(
            node_error(graph, node, {ErrorCode::kBadModel, "its inputs have other types than the graph says"}));
      }
      NX_TRY(state.outputs, evaluate_node(graph, node, state.inputs, limits));
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != kNoValue) {
        state.values[static_cast<std::size_t>(node.outputs[i])] = std::move(state.outputs[i]);
      }
    }
    for (const ValueId v : step.freed) state.values[static_cast<std::size_t>(v)] = Tensor();
    return {};
  }

  // Outputs in memory of their own: that of the pool serves the next run.
  Result<std::vector<Tensor>> take_outputs(RunState& state) const {
    std::vector<Tensor> outputs;
    for (const ValueId v : graph.outputs) {
      const Tensor* found = find(state, v);
      NX_CHECK(found != nullptr, "an output of the graph that no step made");
      if (state.pool.owns(*found)) {
        NX_TRY(Tensor copy, Tensor::allocate(found->dtype(), found->dims(), limits.max_tensor_bytes));
        std::copy_n(found->data(), found->bytes(), copy.mutable_data());
        outputs.push_back(std::move(copy));
      } else {
        outputs.push_back(*found);
      }
    }
    return outputs;
  }

  Result<std::vector<Tensor>> run_in(RunState& state, std::span<const Tensor> inputs) const {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      state.values[static_cast<std::size_t>(graph.inputs[i])] = inputs[i];
    }
    for (const Step& step : steps) NX_TRY_VOID(run_step(step, state));
    return take_outputs(state);
  }
};

Program::Program(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Program::~Program() = default;

const Graph& Program::graph() const {
  return impl_->graph;
}

const ProgramSummary& Program::summary() const {
  return impl_->summary;
}

Result<std::vector<Tensor>> Program::run(std::span<const Tensor> inputs) const {
  NX_TRY_VOID(check_inputs(impl_->graph, inputs));
  const Team::Turn turn(*impl_->team);
  std::unique_ptr<RunState> state = impl_->acquire();
  auto outputs = impl_->run_in(*state, inputs);
  impl_->release(std::move(state));
  return outputs;
}

Result<std::shared_ptr<const Program>> compile(Graph graph, const CompileOptions& options) {
  auto impl = std::make_unique<Program::Impl>();
  impl->graph = std::move(graph);
  impl->summary.ops_before = count_ops(impl->graph);
  NX_TRY(impl->summary.passes, run_passes(impl->graph, options.passes));
  impl->summary.ops_after = count_ops(impl->graph);
  NX_TRY(impl->steps, make_steps(impl->graph, options, impl->summary));
  release_packed_constants(impl->graph, impl->steps);
  for (const Value& value : impl->graph.values) {
    if (value.constant && value.constant->data() != nullptr) impl->summary.constant_bytes += value.constant->bytes();
  }
  impl->limits.max_tensor_bytes = options.max_tensor_bytes;
  impl->team = options.team != nullptr ? options.team : &Team::process();
  return std::shared_ptr<const Program>(new Program(std::move(impl)));
}

}  // namespace narthex
