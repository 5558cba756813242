/** Runs in a page and keeps it busy. */
export function block(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}
