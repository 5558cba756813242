/** The engines that the specs of `every-engine` run on. */
export type EngineName = 'chromium' | 'firefox' | 'webkit'

/** Something on a page, by what assistive technology calls it. */
export interface Part {
  role: 'textbox' | 'button' | 'heading' | 'article'
  name: string | RegExp
  /** Otherwise a piece of the name is enough. */
  exact?: boolean
}

/** A browser, driven as little as the specs need: whatever can do this can run them. */
export interface Engine {
  openDevice(): Promise<Device>
  close(): Promise<void>
}

/** One browser profile. Its tabs share storage, channels and locks; two devices share nothing. */
export interface Device {
  /** The browser's, for reports: what was really tested. */
  version: string
  /** All tabs are visible at once, as in windows side by side. */
  openTab(): Promise<Tab>
  close(): Promise<void>
}

export interface Tab {
  goto(url: string): Promise<void>
  reload(): Promise<void>
  close(): Promise<void>
  /** Ends the process that runs this page, by force and without a word to it. The device and its other tabs go on. */
  crash(): Promise<void>
  isShown(part: Part): Promise<boolean>
  click(part: Part): Promise<void>
  /** Types into an empty field. */
  type(part: Part, text: string): Promise<void>
  /** Enter, where the focus is. */
  pressEnter(): Promise<void>
  /** Runs in the page: the function takes nothing along from here but its argument. */
  evaluate<R, A>(run: (argument: A) => R, argument: A): Promise<R>
}
