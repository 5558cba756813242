/**
 * The rows of a result, taken out of it. For results of many rows, or many results: a query of the driver keeps its
 * result, and V8 does not free such a query before its next collection of the whole heap. Rows that are left in it are
 * copied twice until then, in pauses of 15 ms instead of 2 (docs/PERFORMANCE.md, "Coming back").
 */
export function takeRows<Row>(result: Row[]): Row[] {
  return result.splice(0)
}
