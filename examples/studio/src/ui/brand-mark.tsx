/** A kelp's holdfast: what keeps it in place while everything moves. */
export function BrandMark() {
  return (
    <svg className="brand-mark" viewBox="0 0 32 32" fill="none" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="currentColor" />
      <g className="brand-roots" strokeWidth="2.4" strokeLinecap="round">
        <circle cx="16" cy="8.6" r="2.9" />
        <path d="M16 11.5V25" />
        <path d="M16 15.5c0 4.2-2.6 7.2-7.2 7.6" />
        <path d="M16 15.5c0 4.2 2.6 7.2 7.2 7.6" />
        <path d="M16 20.5c0 2.6-1.3 4.4-3.4 5.2" />
        <path d="M16 20.5c0 2.6 1.3 4.4 3.4 5.2" />
      </g>
    </svg>
  )
}
