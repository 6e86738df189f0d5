import type { FetchResponse } from '@berth/contract';
import { Icon } from '../../../ui/icons.tsx';

const toWords = (name: string): string => name.replaceAll('_', ' ');

/** What blocked a page, and how that was recognised. */
export const BlockNote = ({ block }: { block: NonNullable<FetchResponse['block']> }) => (
  <div class="error-note automation-block" role="alert">
    <Icon name="shield" />
    <div>
      <p>
        The page is blocked: {toWords(block.type)}
        {block.vendor !== 'unknown' && ` by ${toWords(block.vendor)}`} ({block.confidence} confidence).
      </p>
      <ul class="automation-list muted">
        {block.evidence.map(({ kind, id, value_redacted: value }, n) => (
          <li key={n} class="automation-foreign">
            {toWords(kind)}: {value || id}
          </li>
        ))}
      </ul>
    </div>
  </div>
);
