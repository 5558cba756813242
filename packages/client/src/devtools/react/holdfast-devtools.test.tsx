import '../../../test/dom.ts'
import { cleanup, render } from '@testing-library/react'
import { StrictMode } from 'react'
import { renderToString } from 'react-dom/server'
import { afterEach, expect, it } from 'vitest'
import { createClient } from '../../index.ts'
import { HoldfastProvider } from '../../react/index.ts'
import { HoldfastDevtools } from './index.ts'

afterEach(cleanup)

const panels = () => document.querySelectorAll('holdfast-devtools')

it('mounts one panel, also under StrictMode, and takes it away again', () => {
  const { unmount, container } = render(
    <StrictMode>
      <HoldfastProvider client={createClient()}>
        <HoldfastDevtools position="top-left" />
      </HoldfastProvider>
    </StrictMode>,
  )
  expect(panels()).toHaveLength(1)
  expect(panels()[0]?.getAttribute('data-position')).toBe('top-left')
  expect(container.innerHTML).toBe('')
  unmount()
  expect(panels()).toHaveLength(0)
})

it('renders nothing on a server', () => {
  const html = renderToString(
    <HoldfastProvider client={createClient()}>
      <HoldfastDevtools />
    </HoldfastProvider>,
  )
  expect(html).toBe('')
})
