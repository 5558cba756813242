/** Resolves on the first Ctrl-C or SIGTERM. A second one ends the process at once. */
export function untilToldToStop(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let told = false
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        if (told && signal === 'SIGINT') process.exit(130)
        told = true
        resolve(signal)
      })
    }
  })
}
