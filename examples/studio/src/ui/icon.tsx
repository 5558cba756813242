/** 24-unit outlines, drawn with the text's colour. */
const PATHS = {
  image: 'M4 5h16v14H4zM4 16l4.5-4.5 4 4L15 13l5 5M15.5 9.2h.01',
  video: 'M3.5 6h11v12h-11zM14.5 10.5l6-3.5v10l-6-3.5',
  send: 'M12 19V5M6 11l6-6 6 6',
  plus: 'M12 5v14M5 12h14',
  menu: 'M4 7h16M4 12h16M4 17h16',
  close: 'M6 6l12 12M18 6L6 18',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  retry: 'M4.5 12a7.5 7.5 0 1 1 2.2 5.3M4.5 18.5v-4h4',
  alert: 'M12 4l9 16H3zM12 10v4.5M12 17.3h.01',
  stopped: 'M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zM8.5 12h7',
  gone: 'M4 5h16v14H4zM4 4l16 16',
  chevron: 'M7 10l5 5 5-5',
  device: 'M8 3h8v18H8zM11.5 18h1',
  tab: 'M4 6h16v13H4zM4 10h16M10 6v4',
  person: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4.5 20c.8-3.8 3.7-5.5 7.5-5.5s6.7 1.7 7.5 5.5',
  logout: 'M10 5H5v14h5M14 8l4 4-4 4M18 12H9.5',
} as const

export type IconName = keyof typeof PATHS

/** Decoration beside a text or inside a labelled button. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg
      className="icon"
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  )
}
