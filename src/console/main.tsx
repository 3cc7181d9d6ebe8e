import { render } from "preact";
import "./styles/console.css";

render(<h1>Today</h1>, document.body);
