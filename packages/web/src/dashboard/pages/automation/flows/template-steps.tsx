import { useSignal } from '@preact/signals';
import type { TemplateItemResponse } from '@berth/contract';
import { call } from '../../../api.ts';
import { CodeBlock } from '../../../ui/values/copy.tsx';
import { Icon } from '../../../ui/icons.tsx';
import { toastError, toasts } from '../../../ui/toasts.ts';
import { saveForeign } from '../values/save-foreign.ts';

type Format = 'recorder' | 'playwright';

/** The steps of a template, to read and to take elsewhere. */
export function TemplateSteps({ template }: { template: TemplateItemResponse }) {
  const isReading = useSignal(false);
  const save = async (format: Format): Promise<void> => {
    isReading.value = true;
    await exportAs(template.name, format).catch(toastError);
    isReading.value = false;
  };
  return (
    <details class="automation-options">
      <summary>Steps ({template.steps.length})</summary>
      <div class="row">
        <button type="button" class="button" disabled={isReading.value} onClick={() => void save('recorder')}>
          <Icon name="download" />
          Chrome recording
        </button>
        <button type="button" class="button" disabled={isReading.value} onClick={() => void save('playwright')}>
          <Icon name="download" />
          Playwright test
        </button>
      </div>
      <CodeBlock text={JSON.stringify(template.steps, null, 2)} label="the steps" />
    </details>
  );
}

async function exportAs(name: string, format: Format): Promise<void> {
  const template = (await call('listTemplates', { query: { format } })).find((each) => each.name === name);
  const content = format === 'recorder' ? template?.recording && JSON.stringify(template.recording, null, 2) : template?.playwright;
  if (!content) return toasts.show('This template has steps that have no counterpart there.');
  saveForeign(format === 'recorder' ? `${name}.json` : `${name}.spec.ts`, content);
}
