/** Settles as the work does, unless the tab has died by then: then never, as nothing goes on in a dead tab. */
export function whileAlive<T>(death: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    work.then(
      (value) => {
        if (!death.aborted) resolve(value)
      },
      (error) => {
        if (!death.aborted) reject(error)
      },
    )
  })
}

export const never = <T>(): Promise<T> => new Promise<T>(() => {})
