"""Ports of PTF that are Unix datagram sockets, so that nobody needs to be root: PTF's own hook for other kinds of ports.

Platform arguments: PORT=OWN:SWITCH;... with the paths of two sockets.
"""

import socket
import time


class DatagramPort:
    """A port; every datagram is a frame."""

    def __init__(self, address, device_number, port_number, config=None):
        own, self.switch = address.split(":")
        self.device_number = device_number
        self.port_number = port_number
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(own)

    def fileno(self):
        return self.socket.fileno()

    def recv(self):
        frame = self.socket.recv(65535)
        return self.device_number, self.port_number, frame, time.time()

    def get_packet_source(self):
        return self

    def send(self, packet):
        return self.socket.sendto(packet, self.switch)

    def down(self):
        pass

    def up(self):
        pass

    def mac(self):
        return None


def platform_config_update(config):
    ports = (part.split("=") for part in config["platform_args"].split(";"))
    config["port_map"] = {(0, int(number)): address for number, address in ports}
    config["dataplane"] = {"portclass": DatagramPort}
