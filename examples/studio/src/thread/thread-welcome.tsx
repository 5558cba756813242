import './thread-welcome.css'
import { usePromptDraft } from '../prompt/prompt-draft.ts'
import { SUGGESTIONS } from '../prompt/suggestions.ts'
import { Icon } from '../ui/icon.tsx'

/** An empty conversation says what to do first, and what to try then. */
export function ThreadWelcome() {
  const { suggest } = usePromptDraft()
  return (
    <div className="thread-welcome">
      <h2>What shall we make?</h2>
      <p>
        Describe it below. Then try to lose it: reload, close the tab, open a second one, log out. It comes
        back, further along.
      </p>
      <ul className="suggestions" aria-label="Suggestions">
        {SUGGESTIONS.map((suggestion) => (
          <li key={suggestion.prompt}>
            <button type="button" className="suggestion" onClick={() => suggest(suggestion)}>
              <Icon name={suggestion.type} />
              {suggestion.prompt}
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}
