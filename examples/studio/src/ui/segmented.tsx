import './segmented.css'
import { type ReactNode, useId } from 'react'

interface Props<Value extends string> {
  label: string
  options: readonly { value: Value; label: string; icon?: ReactNode }[]
  value: Value
  onChange(value: Value): void
}

/** A radio group that looks like one control: arrow keys and screen readers get it from the browser. */
export function Segmented<Value extends string>({ label, options, value, onChange }: Props<Value>) {
  const name = useId()
  return (
    <fieldset className="segmented">
      <legend className="visually-hidden">{label}</legend>
      {options.map((option) => (
        <label key={option.value} className="segment">
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          <span className="segment-face">
            {option.icon}
            {option.label}
          </span>
        </label>
      ))}
    </fieldset>
  )
}
