/**
 * Saves a file of another origin under a name of ours, which a plain link cannot. Where that origin or the page's
 * Content-Security-Policy does not let us read it, it opens in a tab of its own instead.
 */
export async function saveFile(url: string, name: string): Promise<void> {
  try {
    const response = await fetch(url)
    if (!response.ok) throw new Error(`The file answered with status ${response.status}.`)
    const local = URL.createObjectURL(await response.blob())
    const link = document.createElement('a')
    link.href = local
    link.download = name
    link.click()
    // The browser reads the blob after the click has been handled; a minute is plenty.
    setTimeout(() => URL.revokeObjectURL(local), 60_000)
  } catch {
    // Not allowed to read it: seeing it is the next best thing, and saving it from there works.
    window.open(url, '_blank', 'noopener')
  }
}
