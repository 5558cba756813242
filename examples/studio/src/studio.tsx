import './studio.css'
import { useMemo, useRef, useState } from 'react'
import { AwayBanner } from './connection/away-banner.tsx'
import { ConversationsProvider } from './conversations/conversations-provider.tsx'
import { Drawer } from './conversations/drawer.tsx'
import { Sidebar } from './conversations/sidebar.tsx'
import { useOpenNewest } from './conversations/use-open-newest.ts'
import { CreditsProvider } from './credits/credits-provider.tsx'
import { usePageTitle } from './page-title/use-page-title.ts'
import type { GenerationType } from './prompt/generation-types.ts'
import { PromptBox } from './prompt/prompt-box.tsx'
import { type PromptDraft, PromptDraftContext } from './prompt/prompt-draft.ts'
import { useFocusOnNavigation } from './route/use-focus-on-navigation.ts'
import { useRoute } from './route/use-route.ts'
import { type MessagesCache, MessagesCacheContext } from './thread/messages-cache.ts'
import { Thread } from './thread/thread.tsx'
import { ThreadSkeleton } from './thread/thread-skeleton.tsx'
import { ThreadWelcome } from './thread/thread-welcome.tsx'
import { TopBar } from './top-bar.tsx'
import { useMediaQuery } from './ui/use-media-query.ts'

/** Everything one signed-in person sees. Mounted anew for the next one, so that nothing is left over. */
export function Studio() {
  const [messages] = useState<MessagesCache>(() => new Map())
  return (
    <MessagesCacheContext value={messages}>
      <ConversationsProvider>
        <CreditsProvider>
          <StudioLayout />
        </CreditsProvider>
      </ConversationsProvider>
    </MessagesCacheContext>
  )
}

function StudioLayout() {
  const route = useRoute()
  const isNarrow = useMediaQuery('(max-width: 820px)')
  // Open only where it was opened: going elsewhere closes it.
  const [drawerRoute, setDrawerRoute] = useState<typeof route | null>(null)
  const isDrawerOpen = isNarrow && drawerRoute === route
  const heading = useRef<HTMLHeadingElement>(null)
  const field = useRef<HTMLTextAreaElement>(null)
  const [prompt, setPrompt] = useState('')
  const [type, setType] = useState<GenerationType>('image')
  const draft = useMemo<PromptDraft>(
    () => ({
      prompt,
      type,
      setPrompt,
      setType,
      suggest: (suggestion) => {
        setPrompt(suggestion.prompt)
        setType(suggestion.type)
        field.current?.focus()
      },
    }),
    [prompt, type],
  )
  usePageTitle()
  useFocusOnNavigation(route, { heading, field })
  const isOpening = useOpenNewest(route)

  return (
    <PromptDraftContext value={draft}>
      <div className="studio">
        <button type="button" className="skip-link" onClick={() => field.current?.focus()}>
          Skip to the prompt
        </button>
        {isNarrow ? (
          <Drawer isOpen={isDrawerOpen} onClose={() => setDrawerRoute(null)}>
            <Sidebar route={route} />
          </Drawer>
        ) : (
          <aside className="side" aria-label="Conversations and connection">
            <Sidebar route={route} />
          </aside>
        )}
        <div className="stage">
          <TopBar
            route={route}
            heading={heading}
            onOpenConversations={isNarrow ? () => setDrawerRoute(route) : undefined}
          />
          <main className="main">
            <AwayBanner />
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be scrollable by keyboard. */}
            <section className="scroll" aria-label="Thread" tabIndex={0}>
              {route.at === 'conversation' && (
                <Thread key={route.conversationId} conversationId={route.conversationId} />
              )}
              {route.at === 'unfiled' && <Thread key="unfiled" conversationId={null} />}
              {route.at === 'new' && <ThreadWelcome />}
              {route.at === 'start' && (isOpening ? <ThreadSkeleton /> : <ThreadWelcome />)}
            </section>
            <PromptBox route={route} field={field} />
          </main>
        </div>
      </div>
    </PromptDraftContext>
  )
}
