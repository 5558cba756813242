/** Those lines of a log that name a task without the trace id of the request that created it. */
export function untracedLines(lines: readonly string[]): string[] {
  return lines.filter((line) => {
    const { taskId, traceId } = JSON.parse(line) as { taskId?: unknown; traceId?: unknown }
    return taskId !== undefined && typeof traceId !== 'string'
  })
}
