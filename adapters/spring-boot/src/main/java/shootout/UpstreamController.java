package shootout;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClient;
import org.springframework.web.client.RestClientException;
import tools.jackson.databind.JsonNode;

@RestController
class UpstreamController {
    record Merged(String nonce, JsonNode upstream) {}

    private final RestClient client;

    UpstreamController(RestClient.Builder builder, @Value("${UPSTREAM_URL:http://127.0.0.1:9000}") String url) {
        client = builder
                .baseUrl(url)
                .defaultStatusHandler(status -> status.value() != 200, (request, response) -> {
                    throw new RestClientException("the upstream answered " + response.getStatusCode());
                })
                .build();
    }

    @GetMapping("/upstream/{nonce}")
    Merged merge(@PathVariable String nonce) {
        return new Merged(nonce, client.get().uri("/item/{nonce}", nonce).retrieve().body(JsonNode.class));
    }

    @ExceptionHandler
    ResponseEntity<Void> failed(RestClientException exception) {
        return ResponseEntity.status(HttpStatus.BAD_GATEWAY).build();
    }
}
