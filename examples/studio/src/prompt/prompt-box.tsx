import './prompt-box.css'
import { type FormEvent, type KeyboardEvent, type RefObject, useId, useRef } from 'react'
import type { Route } from '../route/route.ts'
import { Icon } from '../ui/icon.tsx'
import { Segmented } from '../ui/segmented.tsx'
import { GENERATION_TYPES } from './generation-types.ts'
import { usePromptDraft } from './prompt-draft.ts'
import { useStartGeneration } from './use-start-generation.ts'

const OPTIONS = GENERATION_TYPES.map(({ type, label }) => ({
  value: type,
  label,
  icon: <Icon name={type} />,
}))

interface Props {
  route: Route
  field: RefObject<HTMLTextAreaElement | null>
}

export function PromptBox({ route, field }: Props) {
  const { prompt, type, setPrompt, setType } = usePromptDraft()
  const { start, isStarting, error } = useStartGeneration(route)
  const form = useRef<HTMLFormElement>(null)
  const fieldId = useId()
  const hintId = useId()
  const canStart = prompt.trim() !== '' && !isStarting

  async function submit() {
    if (!canStart) return
    const isStarted = await start(prompt.trim(), type)
    if (isStarted) setPrompt('')
    // The button may have had it; someone who has gone elsewhere meanwhile is left there.
    if (form.current?.contains(document.activeElement)) field.current?.focus()
  }

  function handleSubmit(event: FormEvent) {
    event.preventDefault()
    void submit()
  }

  function handleKeyDown(event: KeyboardEvent) {
    // While an input method composes, Enter picks a word.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    void submit()
  }

  return (
    <form
      ref={form}
      className="prompt-box"
      onSubmit={handleSubmit}
      aria-label="New generation"
      aria-busy={isStarting}
    >
      {error && (
        <p className="prompt-error" role="alert">
          {error}
        </p>
      )}
      <div className="prompt-surface">
        <label className="visually-hidden" htmlFor={fieldId}>
          Prompt
        </label>
        <textarea
          id={fieldId}
          ref={field}
          rows={1}
          value={prompt}
          readOnly={isStarting}
          maxLength={2000}
          placeholder={type === 'video' ? 'Describe a clip…' : 'Describe a picture…'}
          aria-describedby={hintId}
          enterKeyHint="send"
          onChange={(event) => setPrompt(event.target.value)}
          onKeyDown={handleKeyDown}
        />
        <div className="prompt-row">
          <Segmented label="What to make" options={OPTIONS} value={type} onChange={setType} />
          <p className="prompt-hint" id={hintId}>
            <kbd>Enter</kbd> to send, <kbd>Shift</kbd> + <kbd>Enter</kbd> for a new line
          </p>
          <button type="submit" className="send" disabled={!canStart} aria-label="Generate">
            {isStarting ? <span className="spinner" aria-hidden="true" /> : <Icon name="send" />}
          </button>
        </div>
      </div>
    </form>
  )
}
