// The generic plan: a canonical graph as an ordered list of steps, each run by a fast kernel where fast_ops.h has one
// for it, else by the operator's reference `eval`.
//
//   compile(graph, options)   runs the passes, packs constant matrices, fixes lifetimes; takes the graph
//   program->run(inputs)      inputs and outputs in the order of the graph's; any number of threads at once
//
// Results do not depend on the batch a row stands in, nor on the number of threads, nor on the instruction set. Inputs
// are checked against the declared types, ranks and dimensions; the error names the input. Covered by tests/plan.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "passes/pipeline.h"

namespace narthex {

class Team;

struct CompileOptions {
  PassOptions passes;
  bool use_kernels = true;  // false: every step by `eval`, to look for a fault
  // Larger intermediate results are an error, not an allocation.
  std::uint64_t max_tensor_bytes = std::uint64_t{1} << 31;
  Team* team = nullptr;  // nullptr: the team of the process
};

struct StepSummary {
  std::string node;
  std::string op;
  bool by_kernel = false;  // a fast kernel takes it (rare shapes may still send it to `eval`)
};

// For `narthex inspect`.
struct ProgramSummary {
  std::map<std::string, std::size_t> ops_before;  // nodes by operator, as the graph came
  std::map<std::string, std::size_t> ops_after;   // as it runs
  PipelineReport passes;
  std::vector<StepSummary> steps;
  std::uint64_t constant_bytes = 0;  // that stay beside the packed ones
  std::uint64_t packed_bytes = 0;
};

class Program {
 public:
  ~Program();
  // After the passes. Names, types and symbolic shapes of inputs and outputs are those of the file.
  const Graph& graph() const;
  const ProgramSummary& summary() const;
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs) const;

 private:
  struct Impl;
  explicit Program(std::unique_ptr<Impl> impl);
  friend Result<std::shared_ptr<const Program>> compile(Graph graph, const CompileOptions& options);
  std::unique_ptr<Impl> impl_;
};

Result<std::shared_ptr<const Program>> compile(Graph graph, const CompileOptions& options = {});

}  // namespace narthex
