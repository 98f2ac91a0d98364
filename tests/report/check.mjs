// Opens reports in headless Chromium: `node check.mjs CHROMIUM FOLDER PICTURES`, FOLDER with node_modules and the reports. Of each,
// in light and dark: axe finds nothing, nothing is asked for but the file, no error is logged, a phone shows it without scrolling
// sideways, keys reach what scrolls, and it prints.
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [chromium, folder, pictures] = process.argv.slice(2);
const require = createRequire(path.resolve(folder, "package.json"));
const puppeteer = (await import(pathToFileURL(require.resolve("puppeteer-core")))).default;
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const browser = await puppeteer.launch({
    executablePath: chromium,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"],
});
const faults = [];
const reports = readdirSync(folder).filter((name) => name.endsWith(".html")).sort();
for (const report of reports) {
    const url = pathToFileURL(path.resolve(folder, report)).href;
    for (const scheme of ["light", "dark"]) {
        const fault = (text) => faults.push(`${report}, ${scheme}: ${text}`);
        const page = await browser.newPage();
        page.on("request", (request) => {
            if (request.url() !== url && !request.url().startsWith("data:")) fault(`asks for ${request.url()}`);
        });
        page.on("pageerror", (error) => fault(`error: ${error.message}`));
        page.on("console", (message) => message.type() === "error" && fault(`console: ${message.text()}`));
        await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
        for (const width of [1280, 390, 320]) {
            await page.setViewport({ width, height: 900, isMobile: width < 500, hasTouch: width < 500 });
            await page.goto(url, { waitUntil: "load" });
            const wide = await page.evaluate(() => document.documentElement.scrollWidth);
            if (wide > width) fault(`${wide} pixels wide on a screen of ${width}`);
            if (pictures) await page.screenshot({ path: `${pictures}/${report}.${scheme}.${width}.png`, fullPage: true });
            if (width === 390) continue;
            await page.evaluate(axe);
            const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
            for (const { id, help, nodes } of violations) {
                fault(`axe: ${id}: ${help}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(" | ")}`);
            }
        }
        const broken = await page.evaluate(() => [...document.images].filter((image) => !image.naturalWidth).length);
        if (broken) fault(`${broken} pictures are not shown`);
        const unreached = await page.evaluate(() =>
            [...document.querySelectorAll("*")].filter((element) => {
                const scrolls = ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
                return scrolls && element.scrollWidth > element.clientWidth && element.tabIndex < 0;
            }).length,
        );
        if (unreached) fault(`${unreached} regions scroll for a mouse alone`);
        if (scheme === "light") {
            const printed = await page.pdf({ format: "A4", printBackground: false });
            if (printed.length < 5000 || Buffer.from(printed.slice(0, 5)).toString() !== "%PDF-") fault("is not printed");
            if (pictures) (await import("node:fs")).writeFileSync(`${pictures}/${report}.pdf`, printed);
        }
        await page.close();
    }
}
await browser.close();
for (const fault of faults) console.error(`FAULT ${fault}`);
console.log(`${reports.length} reports looked at, ${faults.length} faults`);
process.exit(faults.length || !reports.length ? 1 : 0);
