/**
 * Knows an id again without telling it. What outlives a log-out (who made a task, whether the app has handled it) must not
 * say which tasks a user had. 64 bits: of a few hundred names, two are never the same by chance.
 */
export function shortName(id: string): string {
  let [one, two] = [0, 0]
  for (let at = 0; at < id.length; at++) {
    const code = id.charCodeAt(at)
    one = (one * 31 + code) | 0
    two = (two * 37 + code) | 0
  }
  // A letter first: names that are numbers would change their place in an object.
  return `t${one.toString(36)}${two.toString(36)}`
}
