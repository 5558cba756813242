/** Runs jobs side by side, `lanes` at a time, and returns the results in the order of the jobs. */
export async function runInLanes<T, R>(
  jobs: readonly T[],
  lanes: number,
  run: (job: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  let next = 0
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (let index = next++; index < jobs.length; index = next++) {
        results[index] = await run(jobs[index] as T)
      }
    }),
  )
  return results
}
