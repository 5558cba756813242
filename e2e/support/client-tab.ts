import { expect } from '@playwright/test'
import type { ClientState } from '../../packages/client/src/index.ts'
import type { Tab } from '../engines/engine.ts'
import type { Showing } from './client-page.ts'
import { readStored, type Stored } from './stored.ts'

export interface PageUser {
  userId: string
  token: string
}

/** The page with the client alone in a tab of any engine. */
export class ClientTab {
  readonly tab: Tab

  constructor(tab: Tab) {
    this.tab = tab
  }

  async signIn({ userId, token }: PageUser): Promise<void> {
    await this.tab.evaluate(
      (user) => window.app.client.setUser({ id: user.userId, getToken: () => user.token }),
      { userId, token },
    )
    await this.expectState({ userId })
  }

  async state(): Promise<ClientState> {
    return this.tab.evaluate(() => window.app.client.store.getState(), null)
  }

  async expectState(expected: Partial<ClientState>): Promise<void> {
    await expect.poll(() => this.state()).toMatchObject(expected)
  }

  async expectText(text: string): Promise<void> {
    await expect.poll(() => this.tab.evaluate(() => document.body.textContent, null)).toContain(text)
  }

  /** Resolves when it is written down. */
  async submit(prompt: string): Promise<void> {
    await this.tab.evaluate(async (wish) => {
      const { task } = await window.app.client.submit({ type: 'image', params: { prompt: wish } })
      // Not sent before a log-out: a rejection that nobody waits for.
      task.catch(() => {})
    }, prompt)
  }

  async logOut(options: { forget?: boolean } = {}): Promise<void> {
    await this.tab.evaluate((how) => window.app.client.logout(how), options)
  }

  async signOutQuietly(): Promise<void> {
    await this.tab.evaluate(() => window.app.client.setUser(null), null)
  }

  /** Asks the server, so that there is something to be written soon, and then stands still before it is. */
  async standStillBeforeWriting(milliseconds: number): Promise<void> {
    await this.tab.evaluate(async (howLong) => {
      await window.app.client.refresh()
      setTimeout(() => {
        const until = Date.now() + howLong
        while (Date.now() < until);
      })
    }, milliseconds)
  }

  async showings(): Promise<Showing[]> {
    return this.tab.evaluate(() => window.app?.showings ?? [], null)
  }

  async stored(): Promise<Stored> {
    return this.tab.evaluate(readStored, null)
  }
}
