package shootout;

import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

@RestController
class HelloController {
    record Hello(String hello) {}

    @GetMapping(path = "/", produces = MediaType.TEXT_PLAIN_VALUE)
    String ok() {
        return "ok";
    }

    @GetMapping("/hello/{nonce}")
    Hello hello(@PathVariable String nonce) {
        return new Hello(nonce);
    }
}
