// Rewrites of an Encoder that do not depend on precision. Each keeps what the outputs compute.
#pragma once

#include <vector>

#include "plan/encoder.h"

namespace narthex {

// The values that a step reads, and the one it writes.
std::vector<Columns> columns_read(const Step& step);
RowsId rows_written(const Step& step);

// Keeps one output and the steps that it needs.
Encoder keep_output(Encoder encoder, std::size_t output);

// The output becomes one row per sequence. kFirst: what needs only first tokens is computed for them alone, since
// taking the first token commutes with every step on single rows, and an attention may answer one query.
Encoder pool_output(Encoder encoder, step::PoolKind kind);

// Products of equal input columns and activation whose results no product reads directly become one product, whose
// result the readers see by columns: rows are read, and encoded, once.
Encoder merge_linears(Encoder encoder);

}  // namespace narthex
