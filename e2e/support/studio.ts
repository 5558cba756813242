import { expect, type Locator, type Page } from '@playwright/test'
import type { Part } from '../engines/engine.ts'
import type { HoldfastProcess } from './holdfast-process.ts'
import { ACCOUNT, CONTINUE, cardOf, LOG_OUT, OWN_NAME, PROMPT, SIGN_IN_HEADING } from './studio-parts.ts'

/** The studio as a person uses it: by what can be seen and read out. */
export class Studio {
  readonly page: Page
  readonly #holdfast: HoldfastProcess

  constructor(page: Page, holdfast: HoldfastProcess) {
    this.page = page
    this.#holdfast = holdfast
  }

  #part({ role, name, exact = false }: Part): Locator {
    return this.page.getByRole(role, { name, exact })
  }

  async open(search = ''): Promise<void> {
    await this.page.goto(`${this.#holdfast.url}/${search}`)
  }

  async signInUnlessSignedIn(name: string): Promise<void> {
    const prompt = this.#part(PROMPT)
    const nameField = this.#part(OWN_NAME)
    await expect(prompt.or(nameField)).toBeVisible()
    if (await nameField.isVisible()) await this.signIn(name)
  }

  async signIn(name: string): Promise<void> {
    await this.#part(OWN_NAME).fill(name)
    await this.#part(CONTINUE).click()
    await expect(this.#part(PROMPT)).toBeVisible()
  }

  async logOut(): Promise<void> {
    await this.#part(ACCOUNT).click()
    await this.#part(LOG_OUT).click()
    await expect(this.#part(SIGN_IN_HEADING)).toBeVisible()
  }

  async generate(prompt: string, type: 'Image' | 'Video' = 'Image'): Promise<void> {
    if (type === 'Video') await this.page.getByRole('radio', { name: 'Video' }).check({ force: true })
    await this.#part(PROMPT).fill(prompt)
    await this.page.keyboard.press('Enter')
    await expect(this.card(prompt)).toBeVisible()
  }

  /** What stands for a generation, unfinished or finished. There must never be two. */
  card(prompt: string): Locator {
    return this.#part(cardOf(prompt))
  }

  progress(prompt: string): Locator {
    return this.card(prompt).getByRole('progressbar')
  }

  picture(prompt: string): Locator {
    return this.card(prompt).getByRole('img', { name: prompt })
  }

  /** Shown and really loaded: not a broken image. */
  async expectPicture(prompt: string): Promise<void> {
    await expect(this.picture(prompt)).toBeVisible({ timeout: 30_000 })
    await expect
      .poll(() =>
        this.picture(prompt).evaluate((image: HTMLImageElement) => image.complete && image.naturalWidth),
      )
      .toBeGreaterThan(100)
    await expect(this.card(prompt)).toHaveCount(1)
  }

  async openConversation(title: string): Promise<void> {
    await this.page
      .getByRole('navigation', { name: 'Conversations' })
      .getByRole('link', { name: title })
      .click()
  }

  taskId(prompt: string): Promise<string | null> {
    return this.card(prompt).evaluate(
      (card) => card.closest('[data-task-id]')?.getAttribute('data-task-id') ?? null,
    )
  }

  /** How this tab stands with the others and with the server. */
  get panel(): Locator {
    return this.page.locator('[data-connection]')
  }
}
