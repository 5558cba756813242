import type { ReactNode } from 'react'
import { hueOf } from '../ui/hue-of.ts'

interface Props {
  headingId: string
  prompt: string
  /** What is inside the frame, whose size never changes. */
  children: ReactNode
  meta: ReactNode
  actions: ReactNode
}

/** The same anatomy for every state, so that nothing jumps when one becomes the other. */
export function CardContent({ headingId, prompt, children, meta, actions }: Props) {
  return (
    <>
      <div className="frame" style={{ '--hue': hueOf(prompt) }}>
        {children}
      </div>
      <div className="card-body">
        <h3 className="prompt" id={headingId} title={prompt}>
          {prompt}
        </h3>
        <div className="card-foot">
          <p className="meta">{meta}</p>
          <div className="actions">{actions}</div>
        </div>
      </div>
    </>
  )
}
