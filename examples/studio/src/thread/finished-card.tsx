import type { TrackedTask } from '@holdfast/client'
import type { Message, TaskOutput } from '@holdfast/shared'
import { typeLabel } from '../prompt/generation-types.ts'
import { promptOf } from '../prompt/prompt-of.ts'
import { Ago } from '../time/ago.tsx'
import { durationText } from '../time/time-text.ts'
import { CardContent } from './card-content.tsx'
import { DownloadLink } from './download-link.tsx'
import { ResultMedia } from './result-media.tsx'

interface Props {
  /** Null while it has not been fetched: then the task's own result is shown. */
  message: Message | null
  /** Null when the task is no longer known here. */
  task: TrackedTask | null
  outputs: readonly TaskOutput[]
  headingId: string
  onBrokenFile(): void
}

export function FinishedCard({ message, task, outputs, headingId, onBrokenFile }: Props) {
  const prompt = promptFrom(message, task)
  const type = task?.type ?? message?.taskType ?? 'message'
  const finishedAt = task?.finishedAt ?? message?.createdAt ?? null
  return (
    <CardContent
      headingId={headingId}
      prompt={prompt}
      meta={
        <>
          <span>{typeLabel(type)}</span>
          {task?.finishedAt && <span>took {tookText(task, task.finishedAt)}</span>}
          {finishedAt && <Ago at={finishedAt} />}
        </>
      }
      actions={outputs.map((output, index) => (
        <DownloadLink
          key={keyOf(index)}
          output={output}
          prompt={prompt}
          describedBy={headingId}
          number={outputs.length > 1 ? index + 1 : null}
        />
      ))}
    >
      {outputs.length === 0 ? (
        <p className="frame-text">{message?.content || 'There is no file to show.'}</p>
      ) : (
        <div className="results" data-many={outputs.length > 1}>
          {outputs.map((output, index) => (
            <ResultMedia
              key={keyOf(index)}
              output={output}
              prompt={prompt}
              isVideoByType={type === 'video'}
              onBroken={onBrokenFile}
            />
          ))}
        </div>
      )}
    </CardContent>
  )
}

/** Files have no id of their own and never change places; their addresses change when they are signed anew. */
const keyOf = (index: number) => `output-${index}`

function promptFrom(message: Message | null, task: TrackedTask | null): string {
  const params = task?.params ?? message?.params ?? {}
  return typeof params.prompt === 'string' ? promptOf(params) : message?.content || promptOf(params)
}

function tookText(task: TrackedTask, finishedAt: string): string {
  return durationText(Date.parse(finishedAt) - Date.parse(task.startedAt ?? task.createdAt))
}
