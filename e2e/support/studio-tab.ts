import { expect } from '@playwright/test'
import type { Tab } from '../engines/engine.ts'
import { ACCOUNT, CONTINUE, LOG_OUT, OWN_NAME, PROMPT, SIGN_IN_HEADING } from './studio-parts.ts'

/** A generation as the page shows it. */
export interface Card {
  /** How many stand for it. There must never be two. */
  count: number
  status: string | null
  origin: string | null
  isStale: boolean
  hasProgress: boolean
  /** Shown and really loaded: not a broken image. */
  hasPicture: boolean
  /** Kept here until the server can be reached. */
  isUnsent: boolean
  /** The server has it. */
  canBeCancelled: boolean
}

/** The studio in a tab of any engine. */
export class StudioTab {
  readonly tab: Tab

  constructor(tab: Tab) {
    this.tab = tab
  }

  async open(url: string, person: string): Promise<void> {
    await this.tab.goto(url)
    await expect.poll(async () => (await this.isSignedIn()) || (await this.isSignedOut())).toBe(true)
    if (await this.isSignedOut()) await this.signIn(person)
  }

  isSignedIn(): Promise<boolean> {
    return this.tab.isShown(PROMPT)
  }

  isSignedOut(): Promise<boolean> {
    return this.tab.isShown(SIGN_IN_HEADING)
  }

  async signIn(person: string): Promise<void> {
    await this.tab.type(OWN_NAME, person)
    await this.tab.click(CONTINUE)
    await expect.poll(() => this.isSignedIn()).toBe(true)
  }

  async logOut(): Promise<void> {
    await this.tab.click(ACCOUNT)
    await this.tab.click(LOG_OUT)
    await expect.poll(() => this.isSignedOut()).toBe(true)
  }

  async generate(prompt: string): Promise<void> {
    await this.tab.type(PROMPT, prompt)
    await this.tab.pressEnter()
    await this.expectCard(prompt, { count: 1 })
  }

  card(prompt: string): Promise<Card> {
    return this.tab.evaluate(readCard, prompt)
  }

  async expectCard(prompt: string, expected: Partial<Card>): Promise<void> {
    await expect.poll(() => this.card(prompt)).toMatchObject(expected)
  }

  async expectPicture(prompt: string): Promise<void> {
    await this.expectCard(prompt, { count: 1, hasPicture: true })
  }

  /** At the studio's own address for it, such as `/new`. */
  async goToPlace(place: string): Promise<void> {
    await this.tab.evaluate((hash) => {
      window.location.hash = hash
    }, place)
  }

  place(): Promise<string> {
    return this.tab.evaluate(() => window.location.hash, null)
  }

  /** What tells that something is unread: the list of conversations, and the title of the tab. */
  badge(): Promise<{ list: string[]; title: string }> {
    return this.tab.evaluate(
      () => ({
        list: [...document.querySelectorAll('nav .unread-mark')].map((mark) => mark.textContent ?? ''),
        title: document.title,
      }),
      null,
    )
  }

  /** The titles in the list of conversations. */
  conversations(): Promise<string[]> {
    const read = () =>
      [...document.querySelectorAll('nav .conversation-title')].map((one) => one.textContent ?? '')
    return this.tab.evaluate(read, null)
  }

  /** How this tab stands with the others and with the server. */
  async expectConnection(connection: string): Promise<void> {
    const read = () => document.querySelector('[data-connection]')?.getAttribute('data-connection') ?? null
    // Where three streams failed before the network was back, push is tried again within a minute.
    await expect.poll(() => this.tab.evaluate(read, null), { timeout: 75_000 }).toBe(connection)
  }
}

/** Runs in the page. */
function readCard(prompt: string): Card {
  const cards = [...document.querySelectorAll('article')].filter((article) => {
    const heading = document.getElementById(article.getAttribute('aria-labelledby') ?? '')
    return heading?.textContent === prompt && article.checkVisibility()
  })
  const card = cards[0]
  const picture = card?.querySelector<HTMLImageElement>('img')
  const buttons = [...(card?.querySelectorAll('button') ?? [])]
  return {
    count: cards.length,
    status: card?.getAttribute('data-status') ?? null,
    origin: card?.getAttribute('data-origin') ?? null,
    isStale: card?.getAttribute('data-stale') === 'true',
    hasProgress: card?.querySelector('[role=progressbar]')?.checkVisibility() ?? false,
    hasPicture: picture ? picture.checkVisibility() && picture.complete && picture.naturalWidth > 100 : false,
    isUnsent: card?.textContent?.includes('to be sent') ?? false,
    canBeCancelled: buttons.some((button) => button.textContent === 'Cancel'),
  }
}
