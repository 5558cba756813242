/** What of `Storage` is used, in memory. */
export class MemoryStorage extends Map<string, string> {
  getItem(key: string) {
    return this.get(key) ?? null
  }
  setItem(key: string, value: string) {
    this.set(key, value)
  }
  key(index: number) {
    return [...this.keys()][index] ?? null
  }
  get length() {
    return this.size
  }
  removeItem(key: string) {
    this.delete(key)
  }
}
